import type { Interaction, Json } from '@askback/protocol'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHost } from '../agents/host.js'
import { testDesk } from '../desk/test-desk.test.helper.js'
import { memoryStore } from '../store/memory-store.js'
import { memorySurface } from '../testing/connector-memory.js'
import { connectorDesk } from './connector-desk.js'
import { runConnector } from './connector-runner.js'

it('a text for what was settled elsewhere goes nowhere, and says so once, also while its card is being closed', async () => {
  const store = memoryStore()
  const { desk, open, errors } = await testDesk({ store })
  const onError = (error: unknown) => errors.push(error)
  const host = createHost({ desk, onError })
  const surface = memorySurface()
  const connector = surface.make()
  let closing = () => {}
  const begun = new Promise<void>((resolve) => (closing = resolve))
  let goOn = () => {}
  const held = new Promise<void>((resolve) => (goOn = resolve))
  connector.close = () => {
    closing()
    return held
  }
  const running = runConnector({ connector, desk: connectorDesk(host, store), onError })
  await running.ready
  await running.line.setPlace('here', { sessions: 'all', current: 's' })
  const { interactionId } = await open('plan_review', { plan: 'A plan' })
  await expect.poll(() => surface.messages.length).toBe(1)
  await surface.tap('Adjust', 'ada')
  const answer = { decision: 'edit' }
  await desk.respond({ interactionId, answer, by: { id: 'carol', name: 'Carol' }, via: 'web' })
  await begun
  const say = (text: string) => running.line.text({ place: 'here', text, by: surface.actor('ada') })
  const told = await say('Smaller steps')
  expect(told).toMatchObject({ ok: false, text: expect.stringContaining('Your text went nowhere') as string })
  expect(told.text).toContain('Approved by Carol')
  goOn()
  await expect.poll(() => store.kv.list('connector/memory/card/')).toEqual([])
  expect(await say('Hello agent')).toMatchObject({ ok: true })
  await running.stop()
  expect(errors).toEqual([])
})

describe('a text that names nothing', () => {
  const fields = [
    { name: 'x', type: 'text', required: true },
    { name: 'y', type: 'text', required: true },
  ]
  const form = { message: 'Settings', schema: { fields } }
  const short = { message: 'Name', schema: { fields: fields.slice(0, 1) } }

  async function begin() {
    const store = memoryStore()
    const { desk, open, errors } = await testDesk({ store })
    const onError = (error: unknown) => errors.push(error)
    const host = createHost({ desk, onError })
    await desk.createSession({ id: 'b', agent: null, title: 'B' })
    const surface = memorySurface()
    const running = runConnector({ connector: surface.make(), desk: connectorDesk(host, store), onError })
    await running.ready
    onTestFinished(async () => {
      await running.stop()
      expect(errors).toEqual([])
    })
    const choose = (current: string) => running.line.setPlace('here', { sessions: 'all', current })
    await choose('s')
    const say = (by: 'ada' | 'bob', text: string, route?: 'agent') =>
      running.line.text({ place: 'here', text, by: surface.actor(by), ...(route && { route }) })
    const shown = async (kind: string, request: Json, sessionId = 's') => {
      const count = surface.messages.length
      const item = await open(kind, request, { sessionId })
      await expect.poll(() => surface.messages.length).toBe(count + 1)
      return item
    }
    const read = ({ sessionId, interactionId }: Interaction) => desk.interaction(sessionId, interactionId)
    return { surface, choose, say, shown, read }
  }

  it('answers nothing where it was written for the agent, whatever came meanwhile', async () => {
    const { say, shown, read } = await begin()
    const item = await shown('question', { questions: [{ question: 'Which branch?', options: [] }] })
    const told = await say('ada', 'please stop everything', 'agent')
    expect(told).toMatchObject({ ok: true, text: expect.stringContaining('Saved as a note') as string })
    expect((await read(item)).status).toBe('pending')
  })

  it('settles the form of the session that was chosen, and no other', async () => {
    const { choose, say, shown, read } = await begin()
    const other = await shown('form', short)
    const chosen = await shown('form', short, 'b')
    await choose('b')
    expect((await say('ada', 'Release')).ok).toBe(true)
    expect((await read(chosen)).answer).toEqual({ values: { x: 'Release' } })
    expect((await read(other)).status).toBe('pending')
  })

  it('settles no form where several sessions wait and none of them was chosen', async () => {
    const { choose, say, shown, read } = await begin()
    const items = [await shown('form', short), await shown('form', short, 'b')]
    await choose('nowhere')
    expect((await say('ada', 'Release')).text).toContain('Reply to the message that you mean')
    for (const item of items) expect((await read(item)).status).toBe('pending')
  })

  it('is no value of a form that somebody else began', async () => {
    const { choose, say, shown, read, surface } = await begin()
    const begun = await shown('form', form)
    expect((await say('ada', 'one')).ok).toBe(true)
    await expect.poll(() => surface.messages.length).toBe(2)
    await choose('b')
    const approval = await shown('approval', { input: { command: 'rm' } }, 'b')
    const told = await say('bob', 'no, do not run that')
    expect(told.text).toContain('Approve')
    expect(await read(approval)).toMatchObject({ settlement: 'denied', message: 'no, do not run that' })
    expect((await say('bob', 'hello')).text).toContain('Saved as a note in the log of B')
    expect((await read(begun)).status).toBe('pending')
    const last = await say('ada', 'two')
    expect(last.text).toBe('Thank you: “Form: y (2 of 2)” is settled.')
    expect((await read(begun)).answer).toEqual({ values: { x: 'one', y: 'two' } })
  })

  it.each(['question', 'plan_review', 'form'])(
    'goes nowhere while an approval and a %s wait: it must reply to the one that is meant',
    async (kind) => {
      const { say, shown, read } = await begin()
      const requests: Record<string, Json> = {
        question: { questions: [{ header: 'Why', question: 'Why?', options: [] }] },
        plan_review: { plan: 'Do it' },
        form,
      }
      const approval = await shown('approval', { input: { command: 'rm -rf x' } })
      const other = await shown(kind, requests[kind]!)
      expect((await say('ada', 'because of the tests')).text).toContain('Reply to the message that you mean')
      for (const item of [approval, other]) expect((await read(item)).status).toBe('pending')
    },
  )

  it('is added to what is ticked, and says which question took it', async () => {
    const { say, shown, read, surface } = await begin()
    const options = [{ label: 'a' }, { label: 'b' }]
    const questions = [
      { header: 'First', question: 'Which?', options, multiSelect: true },
      { header: 'Second', question: 'Why?', options: [] },
      { header: 'Third', question: 'When?', options: [] },
    ]
    const item = await shown('question', { questions })
    await surface.tap('a', 'ada')
    await say('ada', 'mine')
    await expect.poll(() => surface.messages.length).toBe(2)
    expect((await read(item)).progress).toEqual([{ selected: ['a'], other: 'mine' }])
    expect((await say('ada', 'because')).text).toBe('Your text was taken for “Question: Second (2 of 3)”.')
  })
})
