import { describe, expect, it } from 'vitest'
import { type Caller, type OpenInput, type PersonCaller } from '../index.js'
import { ada, database, listFiles, port, sqlite, testDesk, yes } from './test-desk.test.helper.js'

const lone = 'a\ud800b'
const unwanted: [string, unknown][] = [
  ['a lone surrogate', lone],
  ['a lone surrogate in a key', { [lone]: 1 }],
  ['an unsafe integer', 2 ** 53],
  ['an unsafe negative integer', -(2 ** 53)],
  ['a number that is not finite', Infinity],
  ['not a number', Number.NaN],
  ['a bigint', 1n],
  ['a date', new Date(0)],
  ['a map', new Map()],
  ['a function', () => 1],
  ['a hole', Array.from({ length: 1 })],
  ['a prototype key', JSON.parse('{"__proto__": {"admin": true}}')],
  ['a constructor with a prototype', { constructor: { prototype: {} } }],
  ['101 levels', nested(101)],
  ['itself', circular()],
]

function nested(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = [value]
  return value
}

function circular(): unknown {
  const value: { self?: unknown } = {}
  value.self = value
  return value
}

const refused = { code: 'invalid_request' }
const nothing = undefined as never
const call = { sessionId: 's', toolName: 'Bash', input: {} }
const byCall = { sessionId: 's', toolCallId: 't' }
const answers = JSON.parse('{"0": "x", "__proto__": "y"}') as Record<string, string>

describe('a request', () => {
  it.each(unwanted)('with %s is refused, and nothing is opened', async (_, input) => {
    const { desk, open } = await testDesk()
    await expect(open('approval', { input })).rejects.toMatchObject(refused)
    expect((await desk.pending()).interactions).toEqual([])
  })

  it.each(['nope', '', '__proto__', 'constructor', 'toString', 'Question'])(
    'of the unknown kind %j is refused',
    async (kind) => {
      const { open } = await testDesk()
      await expect(open(kind, database)).rejects.toMatchObject({
        code: 'unknown_kind',
        message: `The kind ${JSON.stringify(kind)} is not defined here. Correct its name, or add it to the kinds of the gateway and restart it.`,
      })
    },
  )

  const question = database.questions[0]!
  it.each<[string, string, unknown]>([
    ['no question', 'question', { questions: [] }],
    ['five questions', 'question', { questions: Array.from({ length: 5 }, () => question) }],
    ['an empty label', 'question', { questions: [{ ...question, options: [{ label: '' }] }] }],
    ['a blank label', 'question', { questions: [{ ...question, options: [{ label: ' ' }] }] }],
    [
      'the same label twice',
      'question',
      { questions: [{ ...question, options: [{ label: 'A' }, { label: 'A' }] }] },
    ],
    [
      'nine options',
      'question',
      {
        questions: [
          { ...question, options: Array.from({ length: 9 }, (_, index) => ({ label: `${index}` })) },
        ],
      },
    ],
    ['another kind’s request', 'question', listFiles],
    ['no request', 'approval', undefined],
    ['null', 'approval', null],
    ['a list', 'approval', [listFiles]],
    ['no input', 'approval', { title: 'x' }],
    ['a plan that is no text', 'plan_review', { plan: 5 }],
    ['a form without fields', 'form', { message: 'x', schema: { fields: [] } }],
    [
      'a secret in a form',
      'form',
      { message: 'x', schema: { fields: [{ name: 'x', type: 'text', secret: true }] } },
    ],
    ['a password in a form', 'form', { message: 'x', schema: { fields: [{ name: 'x', type: 'password' }] } }],
    [
      'a pattern that is none',
      'form',
      { message: 'x', schema: { fields: [{ name: 'x', type: 'text', pattern: '(' }] } },
    ],
  ])('with %s is refused', async (_, kind, request) => {
    const { open } = await testDesk()
    await expect(open(kind, request)).rejects.toMatchObject(refused)
  })

  it('may use every field of the protocol', async () => {
    const { open } = await testDesk()
    const free = {
      questions: [
        { header: 'More than twelve characters', question: 'Why?', options: [], multiSelect: false },
      ],
    }
    const eight = {
      questions: [{ ...question, options: Array.from({ length: 8 }, (_, index) => ({ label: `${index}` })) }],
    }
    for (const request of [free, eight, { questions: [question, question, question, question] }]) {
      expect(await open('question', request)).toMatchObject({ status: 'pending', request })
    }
    expect(await open('approval', { input: nested(98) })).toMatchObject({ status: 'pending' })
  })

  it.each<[string, Partial<OpenInput>]>([
    ['tool name', { toolName: '' }],
    ['tool name', { toolName: lone }],
    ['tool name', { toolName: 'x'.repeat(501) }],
    ['tool call', { toolCallId: '' }],
    ['tool call', { toolCallId: lone }],
    ['tool call', { toolCallId: 5 as never }],
    ['turn', { turnId: '' }],
    ['response', { responseId: lone }],
    ['subagent', { agentId: lone }],
    ['edit', { edit: 'everything' as never }],
    ['attach', { attach: 'yes' as never }],
  ])('with a bad %s is refused: %j', async (_, more) => {
    const { open } = await testDesk()
    await expect(open('question', database, more)).rejects.toMatchObject(refused)
  })
})

describe('an answer', () => {
  it.each(unwanted)('with %s is refused, and the interaction stays pending', async (_, updatedInput) => {
    const { desk, open, seq } = await testDesk()
    const { interactionId } = await open('approval', listFiles)
    const before = await seq()
    const wrong = desk.as(ada).respond({ interactionId, answer: { ...yes, updatedInput } })
    await expect(wrong).rejects.toMatchObject(refused)
    expect(await seq()).toBe(before)
  })

  it('that does not fit gets an error that names the question or field, and the reason', async () => {
    const { desk, open } = await testDesk()
    const asked = await open('question', database)
    const mysql = { answers: [{ selected: ['MySQL'] }] }
    await expect(
      desk.as(ada).respond({ interactionId: asked.interactionId, answer: mysql }),
    ).rejects.toMatchObject({
      message: 'Question 1 ("Database", index 0) has no option "MySQL".',
      details: { question: 0 },
    })
    const form = await open('form', port)
    const host = { values: { host: 'x' } }
    await expect(
      desk.as(ada).respond({ interactionId: form.interactionId, answer: host }),
    ).rejects.toMatchObject({
      message: 'The form has no field "host".',
      details: { field: 'host' },
    })
  })

  it.each<[string, Caller]>([
    ['an actor without an id', { by: {} as never }],
    ['an actor with a lone surrogate', { by: { id: lone } }],
    ['an unknown surface', { via: 'fax' as never }],
    ['an unknown role', { role: 'owner' as never }],
    ['nobody', null as never],
  ])('by %s is refused', async (_, caller) => {
    const { desk } = await testDesk()
    expect(() => desk.as(caller)).toThrow(expect.objectContaining(refused))
  })

  it('names the person as they were when the desk was bound', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('question', database)
    const by = { id: 'ada' }
    const bound = desk.as({ by })
    by.id = 'bob'
    expect((await bound.respond({ interactionId, answer: sqlite })).interaction.by).toEqual({ id: 'ada' })
  })
})

describe('every other command', () => {
  it.each<[string, (desk: Awaited<ReturnType<typeof testDesk>>['desk']) => Promise<unknown>]>([
    ['a message', (desk) => desk.as(ada).message({ sessionId: 's', text: lone })],
    ['a message of nobody', (desk) => desk.as({} as PersonCaller).message({ sessionId: 's', text: 'x' })],
    ['a route', (desk) => desk.as(ada).message({ sessionId: 's', text: 'x', route: 'else' as never })],
    ['a question index', (desk) => desk.as(ada).message({ sessionId: 's', text: 'x', questionIndex: -1 })],
    ['a title', (desk) => desk.createSession({ title: lone })],
    ['a folder', (desk) => desk.createSession({ cwd: lone })],
    ['an agent', (desk) => desk.createSession({ agent: lone })],
    ['a session id', (desk) => desk.createSession({ id: 'a/b' })],
    ['a session that exists', (desk) => desk.createSession({ id: 's' })],
    [
      'a report',
      (desk) => desk.report({ sessionId: 's', events: [{ type: 'text', blockId: 'b', text: lone }] }),
    ],
    ['a list of pending', (desk) => desk.pending({ limit: 0 })],
    ['a page', (desk) => desk.sessions({ limit: 1.5 })],
    ['a cursor', (desk) => desk.audit({ after: 'x' })],
    ['a cancel', (desk) => desk.cancel({ interactionId: 'x', sessionId: 's', message: lone })],
    ['a part of the log', (desk) => desk.events('s', { limit: -1 })],
    ['a source', (desk) => desk.reportToolCall({ ...call, source: 'fax' as never })],
    [
      'a decision',
      (desk) => desk.answerToolCall({ ...byCall, kind: 'approval', decision: 'maybe' as never }),
    ],
    ['a signal', (desk) => desk.session('s').ask({ ...database, signal: 'soon' as never })],
    ['no signal', (desk) => desk.session('s').ask({ ...database, signal: null as never })],
    ['a kind', (desk) => desk.session('s').request(nothing, {})],
    [
      'nobody who adopts',
      (desk) => desk.as({ by: nothing }).adopt({ agent: 'a', agentSessionId: 'x', items: [] }),
    ],
    [
      'who adopts',
      async (desk) => desk.as({ by: { id: lone } }).adopt({ agent: 'a', agentSessionId: 'x', items: [] }),
    ],
    ['no request', (desk) => desk.session('s').ask(nothing)],
    ['no approval', (desk) => desk.session('s').approve(nothing)],
    ['no open', (desk) => desk.open(nothing)],
    ['no answer', (desk) => desk.respond(nothing)],
    ['no answer to a call', (desk) => desk.answerToolCall(nothing)],
    ['no progress', (desk) => desk.progress(nothing)],
    ['no cancel', (desk) => desk.cancel(nothing)],
    ['no message', (desk) => desk.as(ada).message(nothing)],
    ['no report', (desk) => desk.report(nothing)],
    ['no tool call', (desk) => desk.reportToolCall(nothing)],
    ['no end of a wait', (desk) => desk.wait('x', { sessionId: 's', until: 'soon' as never })],
    ['no listener', async (desk) => desk.on(nothing)],
    ['something else to call when a session is gone', async (desk) => desk.on(() => {}, {} as never)],
    ['no listener for all sessions', (desk) => desk.followAll(nothing)],
    ['no follower', (desk) => desk.follow('s', nothing)],
    ['half a follower', (desk) => desk.follow('s', { advanced: () => {} } as never)],
    ['a session to snapshot', (desk) => desk.snapshot(true as never)],
    ['a session to delete', (desk) => desk.deleteSession(true as never)],
    ['a session to interrupt', (desk) => desk.interrupt(true as never)],
    ['how to interrupt', (desk) => desk.interrupt('s', null as never)],
    ['a session to read', (desk) => desk.events({} as never, { limit: 1 })],
    ['what to wait for', (desk) => desk.wait(true as never)],
    ['what to wait for in a session', (desk) => desk.session('s').wait(true as never)],
    ['what to wait for without a claim', (desk) => desk.wait([] as never, { sessionId: 's', claim: false })],
    ['what to look at', (desk) => desk.interaction('s', true as never)],
    ['a rule to delete', (desk) => desk.deleteRule(true as never)],
    [
      'an answer with a prototype key',
      (desk) => desk.answerToolCall({ ...byCall, kind: 'question', answers }),
    ],
  ])('an invalid argument is refused: %s', async (_, write) => {
    const { desk, seq } = await testDesk()
    await expect(write(desk)).rejects.toMatchObject(refused)
    expect(await seq()).toBe(1)
  })
})

it('a wait with an invalid signal is refused, and does not affect other waits', async () => {
  const { desk, open } = await testDesk()
  const { interactionId } = await open('question', database)
  for (const signal of ['soon', null, {}, { addEventListener: () => undefined }] as never[])
    await expect(desk.wait(interactionId, { signal: signal, sessionId: 's' })).rejects.toMatchObject(refused)
  expect(await desk.as(ada).respond({ interactionId, answer: sqlite })).toMatchObject({
    interaction: { settlement: 'answered' },
  })
})
