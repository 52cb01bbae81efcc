import { createDesk, createHost, memoryStore } from '@askback/core'
import { agentContract, fakeClock } from '@askback/core/testing'
import type { EventOf, EventType } from '@askback/protocol'
import { expect, it } from 'vitest'
import { demoAgent, type Script } from './index.js'

const contractScript: Script = {
  turns: [
    {
      on: 'question',
      steps: [
        {
          do: 'ask',
          name: 'go',
          questions: [
            {
              header: 'Go',
              question: 'Go on?',
              options: [{ label: 'Yes' }, { label: 'No' }],
              multiSelect: false,
            },
          ],
        },
        { do: 'say', text: 'You said {{go}}.' },
      ],
    },
    {
      on: 'approval',
      steps: [{ do: 'approve', toolName: 'Bash', input: { command: 'make' }, output: 'made' }],
    },
    { steps: [{ do: 'say', text: 'One two three four five.' }] },
  ],
}

agentContract('the demo agent', () => ({
  adapter: demoAgent({ script: contractScript, paceMs: 0 }),
  messages: { plain: 'hello', question: 'question', approval: 'approval' },
}))

const me = { by: { id: 'me' }, via: 'direct' } as const
const text = 'One two three four five.'

/** A session whose agent is in the middle of a sentence. */
async function startSpeaking() {
  const store = memoryStore()
  const clock = fakeClock()
  const adapter = demoAgent({ script: { turns: [{ steps: [{ do: 'say', text }] }] }, clock, paceMs: 30 })
  const host = createHost({
    desk: createDesk({ store }),
    agents: [adapter],
    onError: (error) => expect(error).toBeUndefined(),
  })
  await host.ready
  const sessionId = (await host.createSession({})).session.id
  const sendMessage = () => host.as(me).message({ sessionId, text: 'hello' })
  const eventsOf = async <Type extends EventType>(type: Type) =>
    (await store.read({ sessionId, limit: 100 })).filter(
      (event): event is EventOf<Type> => event.type === type,
    )
  /** Advances the clock until the check succeeds. */
  const until = (check: () => unknown) => {
    const look = () => {
      clock.advance(30)
      return check()
    }
    return expect.poll(look).toBeTruthy()
  }
  await sendMessage()
  await until(() => host.liveBlocks(sessionId).length > 0)
  return { host, sessionId, sendMessage, eventsOf, until }
}

it('an interrupt logs the unfinished text in its turn', async () => {
  const { host, sessionId, eventsOf } = await startSpeaking()
  const [live] = host.liveBlocks(sessionId)
  await host.as(me).interrupt(sessionId)
  const [ended] = await eventsOf('turn_ended')
  expect(ended).toMatchObject({ reason: 'interrupted' })
  expect(await eventsOf('text')).toMatchObject([
    { text: (live as { text: string }).text, partial: true, turnId: ended!.turnId },
  ])
  await host.close()
})

it('a message during an interrupt begins a new turn, which is not interrupted', async () => {
  const { host, sessionId, sendMessage, eventsOf, until } = await startSpeaking()
  // Sent when the log has the end of the first turn, which is before the agent knows.
  const off = host.desk.on(({ events }) => {
    if (!events.some(({ type }) => type === 'turn_ended')) return
    off()
    void sendMessage()
  })
  await host.as(me).interrupt(sessionId)
  await until(async () => (await eventsOf('turn_ended')).length === 2)
  const [first, second] = await eventsOf('turn_started')
  expect(await eventsOf('turn_ended')).toMatchObject([
    { turnId: first!.turnId, reason: 'interrupted' },
    { turnId: second!.turnId, reason: 'done' },
  ])
  expect(await eventsOf('text')).toMatchObject([
    { turnId: first!.turnId, partial: true },
    { turnId: second!.turnId, text },
  ])
  await host.close()
})

const restartScript: Script = {
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
  const startHost = async () => {
    const host = createHost({
      desk: createDesk({ store }),
      agents: [demoAgent({ script: restartScript, paceMs: 0 })],
      onError: (error) => expect(error).toBeUndefined(),
    })
    await host.ready
    return host
  }
  const pendingOf = async (kind: string) => {
    const pending = async () => (await store.pending({ limit: 1 })).items
    await expect.poll(pending).toMatchObject([{ kind }])
    return (await pending())[0]!
  }
  const first = await startHost()
  const sessionId = (await first.createSession({})).session.id
  await first.as(me).message({ sessionId, text: 'go' })
  const { interactionId } = await pendingOf('approval')
  await first.desk.as(me).respond({ interactionId, answer: { decision: 'approve' } })
  const question = await pendingOf('question')
  await first.close()

  const second = await startHost()
  const answer = { answers: [{ selected: ['Yes'] }] }
  await second.desk.as(me).respond({ interactionId: question.interactionId, answer })
  const texts = async () =>
    (await store.read({ sessionId, limit: 100 })).flatMap((event) =>
      event.type === 'text' ? [event.text] : [],
    )
  await expect.poll(async () => (await texts()).at(-1)).toBe('Bye.')
  expect(await texts()).toEqual(['It is made.', 'Bye.'])
  await second.close()
})
