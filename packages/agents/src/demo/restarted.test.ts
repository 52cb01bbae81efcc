import { createDesk, createHost, memoryStore } from '@askback/core'
import { expect, it } from 'vitest'
import { demoAgent, type Script } from './index.js'

const me = { by: { id: 'me' }, via: 'direct' } as const

const script: Script = {
  turns: [
    {
      steps: [
        { do: 'approve', name: 'make', toolName: 'Bash', input: { command: 'make' }, output: 'made' },
        {
          do: 'when',
          name: 'make',
          is: 'approved',
          steps: [{ do: 'say', text: 'It is made.' }],
          otherwise: [{ do: 'say', text: 'It is left alone.' }],
        },
        {
          do: 'ask',
          questions: [{ header: 'Go', question: 'On?', options: [{ label: 'Yes' }], multiSelect: false }],
        },
        { do: 'say', text: 'Bye.' },
      ],
    },
  ],
}

it('[L10] after a restart, a call that has run is no longer in doubt', async () => {
  const store = memoryStore()
  const begin = async () => {
    const host = createHost({
      desk: createDesk({ store }),
      agents: [demoAgent({ script, pace: 0 })],
      onError: (error) => expect(error).toBeUndefined(),
    })
    await host.ready
    return host
  }
  const asked = async (kind: string) => {
    const pending = async () => (await store.pending({ limit: 1 })).items
    await expect.poll(pending).toMatchObject([{ kind }])
    return (await pending())[0]!
  }
  const first = await begin()
  const sessionId = (await first.createSession({})).session.id
  await first.message({ sessionId, text: 'go', ...me })
  const { interactionId } = await asked('approval')
  await first.desk.respond({ ...me, interactionId, answer: { decision: 'approve' } })
  const question = await asked('question')
  await first.close()

  const second = await begin()
  const answer = { answers: [{ selected: ['Yes'] }] }
  await second.desk.respond({ ...me, interactionId: question.interactionId, answer })
  const texts = async () =>
    (await store.read({ sessionId, limit: 100 })).flatMap((event) =>
      event.type === 'text' ? [event.text] : [],
    )
  await expect.poll(async () => (await texts()).at(-1)).toBe('Bye.')
  expect(await texts()).toEqual(['It is made.', 'Bye.'])
  await second.close()
})
