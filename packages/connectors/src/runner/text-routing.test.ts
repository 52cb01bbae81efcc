import type { Interaction, Json } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { testConnector } from './test-connector.test.helper.js'

it('warns once if a text comes after its interaction was settled elsewhere, also while the card is closing', async () => {
  let closeBegins = () => {}
  const closing = new Promise<void>((resolve) => (closeBegins = resolve))
  let finishClose = () => {}
  const closed = new Promise<void>((resolve) => (finishClose = resolve))
  const { store, desk, surface, running, open } = await testConnector({
    adapt: (connector) => {
      connector.close = () => {
        closeBegins()
        return closed
      }
    },
  })
  const { interactionId } = await open('plan_review', { plan: 'A plan' })
  await expect.poll(() => surface.messages.length).toBe(1)
  await surface.tap('Adjust', 'ada')
  const answer = { decision: 'edit' }
  await desk
    .as({ by: { id: 'carol', name: 'Carol' }, via: 'web' })
    .respond({ sessionId: 's', interactionId, answer })
  await closing
  const type = (text: string) => running.context.text({ place: 'here', text, by: surface.actor('ada') })
  const result = await type('Smaller steps')
  expect(result).toMatchObject({
    ok: false,
    text: expect.stringContaining('Your text went nowhere') as string,
  })
  expect(result.text).toContain('Approved by Carol')
  finishClose()
  await expect.poll(() => store.kv.list('connector/memory/card/')).toEqual([])
  expect(await type('Hello agent')).toMatchObject({ ok: true })
})

describe('a text that does not name what it is for', () => {
  const fields = [
    { name: 'x', type: 'text', required: true },
    { name: 'y', type: 'text', required: true },
  ]
  const form = { message: 'Settings', schema: { fields } }
  const shortForm = { message: 'Name', schema: { fields: fields.slice(0, 1) } }

  async function setUp() {
    const { desk, surface, running, open } = await testConnector()
    await desk.createSession({ id: 'b', agent: null, title: 'B' })
    const selectSession = (current: string) => running.context.setPlace('here', { sessions: 'all', current })
    const type = (by: 'ada' | 'bob', text: string, route?: 'agent') =>
      running.context.text({ place: 'here', text, by: surface.actor(by), ...(route && { route }) })
    const openShown = async (kind: string, request: Json | object, sessionId = 's') => {
      const count = surface.messages.length
      const interaction = await open(kind, request, { sessionId })
      await expect.poll(() => surface.messages.length).toBe(count + 1)
      return interaction
    }
    const read = ({ sessionId, interactionId }: Interaction) => desk.interaction(sessionId, interactionId)
    return { surface, selectSession, type, openShown, read }
  }

  it('answers nothing if it was written for the agent, whatever was opened since', async () => {
    const { type, openShown, read } = await setUp()
    const question = await openShown('question', { questions: [{ question: 'Which branch?', options: [] }] })
    const result = await type('ada', 'please stop everything', 'agent')
    expect(result).toMatchObject({ ok: true, text: expect.stringContaining('Saved as a note') as string })
    expect((await read(question)).status).toBe('pending')
  })

  it('settles the form of the selected session and no other', async () => {
    const { selectSession, type, openShown, read } = await setUp()
    const other = await openShown('form', shortForm)
    const selected = await openShown('form', shortForm, 'b')
    await selectSession('b')
    expect((await type('ada', 'Release')).ok).toBe(true)
    expect((await read(selected)).answer).toEqual({ values: { x: 'Release' } })
    expect((await read(other)).status).toBe('pending')
  })

  it('settles no form if several sessions wait and none of them is selected', async () => {
    const { selectSession, type, openShown, read } = await setUp()
    const forms = [await openShown('form', shortForm), await openShown('form', shortForm, 'b')]
    await selectSession('nowhere')
    expect((await type('ada', 'Release')).text).toContain('Reply to the message that you mean')
    for (const each of forms) expect((await read(each)).status).toBe('pending')
  })

  it('is not taken by a form that somebody else has begun', async () => {
    const { selectSession, type, openShown, read, surface } = await setUp()
    const begun = await openShown('form', form)
    expect((await type('ada', 'one')).ok).toBe(true)
    await expect.poll(() => surface.messages.length).toBe(2)
    await selectSession('b')
    const approval = await openShown('approval', { input: { command: 'rm' } }, 'b')
    const denied = await type('bob', 'no, do not run that')
    expect(denied.text).toContain('Approve')
    expect(await read(approval)).toMatchObject({ settlement: 'denied', message: 'no, do not run that' })
    expect((await type('bob', 'hello')).text).toContain('Saved as a note in the log of B')
    expect((await read(begun)).status).toBe('pending')
    const last = await type('ada', 'two')
    expect(last.text).toBe('Thank you: “Form: y (2 of 2)” is settled.')
    expect((await read(begun)).answer).toEqual({ values: { x: 'one', y: 'two' } })
  })

  it.each(['question', 'plan_review', 'form'])(
    'goes nowhere while an approval and a %s are pending: the person must reply to one of them',
    async (kind) => {
      const { type, openShown, read } = await setUp()
      const requests: Record<string, Json> = {
        question: { questions: [{ header: 'Why', question: 'Why?', options: [] }] },
        plan_review: { plan: 'Do it' },
        form,
      }
      const approval = await openShown('approval', { input: { command: 'rm -rf x' } })
      const other = await openShown(kind, requests[kind]!)
      expect((await type('ada', 'because of the tests')).text).toContain('Reply to the message that you mean')
      for (const each of [approval, other]) expect((await read(each)).status).toBe('pending')
    },
  )

  it('is added to what is selected, and the reply names the question that took it', async () => {
    const { type, openShown, read, surface } = await setUp()
    const options = [{ label: 'a' }, { label: 'b' }]
    const questions = [
      { header: 'First', question: 'Which?', options, multiSelect: true },
      { header: 'Second', question: 'Why?', options: [] },
      { header: 'Third', question: 'When?', options: [] },
    ]
    const interaction = await openShown('question', { questions })
    await surface.tap('a', 'ada')
    await type('ada', 'mine')
    await expect.poll(() => surface.messages.length).toBe(2)
    expect((await read(interaction)).progress).toEqual([{ selected: ['a'], other: 'mine' }])
    expect((await type('ada', 'because')).text).toBe('Your text was taken for “Question: Second (2 of 3)”.')
  })
})
