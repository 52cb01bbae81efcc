import type { Interaction } from '@askback/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  Api,
  approval,
  approve,
  question,
  sqlite,
  startTestGateway,
  type TestGateway,
} from '../testing/index.js'
import { quickAgent } from '../testing/test-agents.test.helper.js'

interface Sent {
  type: string
  name?: string
  code?: string
  message?: string
  value?: Record<string, unknown>
  outcome?: { type: string; interrupts?: { id: string; [field: string]: unknown }[] }
  messages?: { id: string; role: string; content?: string }[]
  [field: string]: unknown
}

let gateway: TestGateway
let person: Api
let runs = 0
beforeEach(async () => {
  gateway = await startTestGateway({ listen: false, agents: [quickAgent] })
  person = new Api(gateway)
})
afterEach(() => gateway.close())

async function run(input: object, api = person): Promise<Sent[]> {
  const body = { runId: `run-${runs++}`, messages: [], ...input }
  const response = await api.post<string>('/api/agui', body)
  if (response.status !== 200) throw new Error(`${response.status} ${JSON.stringify(response.body)}`)
  return response.body
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: '))
    .map((frame) => JSON.parse(frame.slice(6)) as Sent)
}

const user = (content: unknown, id = 'message-1') => ({ id, role: 'user', content })
const resolve = (interruptId: string, { answer }: { answer: object } = approve) => ({
  interruptId,
  status: 'resolved',
  payload: answer,
})
const customs = (events: Sent[]) => events.flatMap(({ name, value }) => (name ? [{ name, value }] : []))
const logged = async (sessionId: string, type: string) =>
  (await gateway.store.read({ sessionId, limit: 1000 })).filter((event) => event.type === type)
const pendingOf = async (sessionId: string): Promise<Interaction[]> =>
  (await gateway.host.snapshot(sessionId)).state.pending

describe('a thread', () => {
  it('is the session with its id', async () => {
    const id = await person.session()
    const events = await run({ threadId: id })
    expect(events.map(({ type }) => type)).toEqual([
      'RUN_STARTED',
      'CUSTOM',
      'MESSAGES_SNAPSHOT',
      'STATE_SNAPSHOT',
      'RUN_FINISHED',
    ])
    expect(events[1]).toMatchObject({ name: 'askback.session', value: { id } })
    expect(events.at(-1)).toMatchObject({ threadId: id, outcome: { type: 'success' } })
  })

  it('is made once for an id of the client, also if a later run wants another agent', async () => {
    const sessionOf = async (input: object) =>
      customs(await run({ threadId: 'mine', ...input })).find(({ name }) => name === 'askback.session')?.value
        ?.id
    const id = await sessionOf({ forwardedProps: { agent: null, title: 'Deploys' } })
    expect(await sessionOf({})).toBe(id)
    expect(await sessionOf({ forwardedProps: { agent: 'quick' } })).toBe(id)
    expect((await gateway.host.desk.sessions({})).items).toHaveLength(1)
  })

  it('is not shared by people who choose the same id', async () => {
    const sessions = () => gateway.host.desk.sessions({})
    await run({ threadId: 'guessable', forwardedProps: { agent: null } })
    const { body } = await person.post<{ token: string }>('/api/tokens', { person: 'eve' })
    await run({ threadId: 'guessable', forwardedProps: { agent: null } }, new Api(gateway, body.token))
    expect((await sessions()).items).toHaveLength(2)
  })

  it('stays deleted', async () => {
    const [, made] = await run({ threadId: 'gone', forwardedProps: { agent: null } })
    await person.delete(`/api/sessions/${String(made!.value!.id)}`)
    expect(await person.post('/api/agui', { threadId: 'gone', runId: 'r', messages: [] })).toMatchObject({
      status: 404,
      body: { error: { message: 'The session of this thread was deleted. Start another thread.' } },
    })
  })
})

describe('a message', () => {
  it('starts a turn once, however often the run is repeated', async () => {
    const input = { threadId: 'mine', runId: 'same', messages: [user('Go.')] }
    const first = await run(input)
    const id = String(first[1]!.value!.id)
    expect(first.map(({ type }) => type)).toContain('TEXT_MESSAGE_CONTENT')
    expect(first.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
    await run(input)
    expect(await logged(id, 'user_message')).toHaveLength(1)
  })

  it('that came from the log is not sent again', async () => {
    const [, made] = await run({ threadId: 'mine', messages: [user('Go.')] })
    const { messages = [] } = (await run({ threadId: 'mine' })).find(
      ({ type }) => type === 'MESSAGES_SNAPSHOT',
    )!
    expect(messages).toMatchObject([{ role: 'user', content: 'Go.' }])
    await run({ threadId: 'mine', messages })
    expect(await logged(String(made!.value!.id), 'user_message')).toHaveLength(1)
  })

  it('can be in parts of text, and in nothing else', async () => {
    const part = (text: string) => ({ type: 'text', text })
    const [, made] = await run({ threadId: 'mine', messages: [user([part('One'), part('two')])] })
    expect(await logged(String(made!.value!.id), 'user_message')).toMatchObject([{ text: 'One\ntwo' }])
    const image = { type: 'image', source: { type: 'url', value: 'https://example.org' } }
    for (const content of [[part('Look'), image], [], '', ' ', null, 7]) {
      const events = await run({ threadId: 'mine', messages: [user(content, 'message-2')] })
      expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'invalid_request' })
    }
    expect(await logged(String(made!.value!.id), 'user_message')).toHaveLength(1)
  })

  it('is refused while something is pending, and the client learns what', async () => {
    const id = await person.session()
    const { interactionId } = await person.open(id)
    const events = await run({ threadId: id, messages: [user('Go on.')] })
    expect(customs(events)).toContainEqual({
      name: 'askback.resume_incomplete',
      value: { missing: [interactionId] },
    })
    expect(events.at(-1)).toMatchObject({
      outcome: { type: 'interrupt', interrupts: [{ id: interactionId }] },
    })
    expect(await logged(id, 'user_message')).toEqual([])
  })
})

describe('an interrupt', () => {
  it('says what is asked, how to answer, and until when', async () => {
    const id = await person.session()
    await person.open(id, { ...question, toolCallId: 'one' })
    await person.open(id, { ...approval, toolCallId: 'two', timeoutMs: 60_000, onTimeout: 'keep' })
    await person.open(id, { kind: 'plan_review', toolCallId: 'three', request: { plan: '1. Go' } })
    const fields = [{ name: 'port', type: 'number', required: true, min: 1 }]
    await person.open(id, {
      kind: 'form',
      toolCallId: 'four',
      request: { message: 'Where?', schema: { fields } },
    })
    const { outcome } = (await run({ threadId: id })).at(-1)!
    expect(outcome?.interrupts).toMatchObject([
      {
        reason: 'input_required',
        message: 'Which database?',
        expiresAt: expect.stringMatching(/^\d{4}-.*Z$/) as string,
        responseSchema: {
          properties: {
            answers: {
              prefixItems: [{ properties: { selected: { items: { enum: ['Postgres', 'SQLite'] } } } }],
            },
          },
        },
        metadata: { askback: { kind: 'question', digest: expect.any(String) as string } },
      },
      { reason: 'tool_call', toolCallId: 'two', responseSchema: { required: ['decision'] } },
      { reason: 'confirmation', responseSchema: { required: ['decision'] } },
      {
        responseSchema: { properties: { values: { properties: { port: { type: 'number', minimum: 1 } } } } },
      },
    ])
    expect(outcome?.interrupts?.[1]).not.toHaveProperty('expiresAt')
  })
})

describe('resume', () => {
  it('answers in the name of the person, and cancels', async () => {
    const id = await person.session()
    const first = await person.open(id, { ...question, toolCallId: 'one' })
    const second = await person.open(id, { ...approval, toolCallId: 'two' })
    const cancelled = { interruptId: second.interactionId, status: 'cancelled' }
    const events = await run({ threadId: id, resume: [resolve(first.interactionId, sqlite), cancelled] })
    expect(events.at(-1)).toMatchObject({ outcome: { type: 'success' } })
    expect(await logged(id, 'interaction_response')).toMatchObject([
      {
        interactionId: first.interactionId,
        settlement: 'answered',
        by: { id: 'owner', name: 'Ada' },
        via: 'http',
      },
      { interactionId: second.interactionId, settlement: 'cancelled' },
    ])
  })

  it('answers nothing unless it covers all that is open', async () => {
    const id = await person.session()
    const first = await person.open(id, { ...approval, toolCallId: 'one' })
    const second = await person.open(id, { ...approval, toolCallId: 'two' })
    for (const resume of [[], [resolve(first.interactionId)]]) {
      const events = await run({ threadId: id, resume })
      const missing =
        resume.length === 0 ? [first.interactionId, second.interactionId] : [second.interactionId]
      expect(customs(events)).toContainEqual({ name: 'askback.resume_incomplete', value: { missing } })
      expect(events.at(-1)?.outcome?.interrupts).toHaveLength(2)
    }
    expect(await pendingOf(id)).toHaveLength(2)
  })

  it('answers nothing if an entry is of another session, unknown, or there twice', async () => {
    const id = await person.session()
    const own = await person.open(id, approval)
    const foreign = await person.open(await person.session(), approval)
    for (const other of [foreign.interactionId, 'nothing', '__proto__']) {
      const events = await run({ threadId: id, resume: [resolve(own.interactionId), resolve(other)] })
      expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'not_found' })
    }
    const twice = [resolve(own.interactionId), { interruptId: own.interactionId, status: 'cancelled' }]
    expect((await run({ threadId: id, resume: twice })).at(-1)).toMatchObject({ code: 'invalid_request' })
    expect(await pendingOf(id)).toHaveLength(1)
    expect(await pendingOf(foreign.sessionId)).toHaveLength(1)
  })

  it('counts once if it is repeated', async () => {
    const id = await person.session()
    const { interactionId } = await person.open(id, approval)
    const input = { threadId: id, runId: 'same', resume: [resolve(interactionId)] }
    const first = await run(input)
    const second = await run(input)
    for (const events of [first, second]) {
      expect(customs(events).map(({ name }) => name)).not.toContain('askback.already_settled')
      expect(events.at(-1)).toMatchObject({ outcome: { type: 'success' } })
    }
    expect(await logged(id, 'interaction_response')).toHaveLength(1)
  })

  it('[L3] says so if somebody else was first', async () => {
    const id = await person.session()
    const { interactionId } = await person.open(id, approval)
    await person.post(`/api/sessions/${id}/deny`, { toolCallId: 'call', message: 'No.' })
    const events = await run({ threadId: id, resume: [resolve(interactionId)] })
    expect(customs(events)).toContainEqual({
      name: 'askback.already_settled',
      value: expect.objectContaining({
        interruptId: interactionId,
        settlement: 'denied',
        message: 'No.',
      }) as object,
    })
    expect(events.at(-1)).toMatchObject({ outcome: { type: 'success' } })
  })

  it('[L9] with an answer that does not fit leaves the request open, and says why', async () => {
    const id = await person.session()
    const { interactionId } = await person.open(id)
    for (const payload of [
      { answers: [{ selected: ['MySQL'] }] },
      { answers: [] },
      null,
      'SQLite',
      undefined,
    ]) {
      const events = await run({
        threadId: id,
        resume: [{ interruptId: interactionId, status: 'resolved', payload }],
      })
      expect(customs(events).map(({ name }) => name)).toContain('askback.answer_refused')
      expect(events.at(-1)?.outcome?.interrupts).toMatchObject([{ id: interactionId }])
    }
  })

  it('[L6] with values that do not fit a form is asked again, with the errors', async () => {
    const id = await person.session()
    const fields = [{ name: 'port', type: 'number', min: 1 }]
    const { interactionId } = await person.open(id, {
      kind: 'form',
      request: { message: 'Where?', schema: { fields } },
    })
    const events = await run({
      threadId: id,
      resume: [resolve(interactionId, { answer: { values: { port: 0 } } })],
    })
    const [again] = events.at(-1)?.outcome?.interrupts ?? []
    expect(again?.id).not.toBe(interactionId)
    expect(again).toMatchObject({ metadata: { askback: { errors: { port: expect.any(String) as string } } } })
  })
})

describe('a request to run', () => {
  it.each<[string, object]>([
    ['no thread', { runId: 'r', messages: [] }],
    ['an empty run', { threadId: 't', runId: '', messages: [] }],
    ['a long id', { threadId: 't'.repeat(501), runId: 'r', messages: [] }],
    ['no messages', { threadId: 't', runId: 'r' }],
    [
      'a status that does not exist',
      { threadId: 't', runId: 'r', messages: [], resume: [{ interruptId: 'i', status: 'done' }] },
    ],
    ['a resume that is no list', { threadId: 't', runId: 'r', messages: [], resume: {} }],
  ])('with %s is refused', async (_, body) => {
    expect(await person.post('/api/agui', body)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request' } },
    })
  })

  it('of an agent is forbidden', async () => {
    const id = await person.session()
    const { interactionId } = await person.open(id, approval)
    const input = { threadId: id, runId: 'r', messages: [], resume: [resolve(interactionId)] }
    for (const token of [gateway.agentToken, gateway.credentials.sessionToken(id)]) {
      const answered = await new Api(gateway, token).post('/api/agui', input)
      expect(answered).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } })
    }
    expect(await pendingOf(id)).toHaveLength(1)
  })

  it('of a page of another origin is answered to that page, if the origin is allowed', async () => {
    const origin = 'https://ide.example'
    const open = await startTestGateway({ listen: false, config: { allowedOrigins: [origin] } })
    const input = { threadId: 't', runId: 'r', messages: [], forwardedProps: { agent: null } }
    const { status, headers } = await new Api(open).post('/api/agui', input, { origin })
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'access-control-allow-origin': origin,
      'cache-control': 'no-store, no-transform',
    })
    expect((await new Api(open).post('/api/agui', input, { origin: 'https://other.example' })).status).toBe(
      403,
    )
    await open.close()
  })

  it('sends hostile texts as data, in one line each', async () => {
    const hostile = 'data: {"type":"RUN_ERROR"}\n\nevent: x\r\ndata: y\u2028\u202e<script>'
    const [, made] = await run({ threadId: 'mine', messages: [user(hostile)] })
    const events = await run({ threadId: 'mine' })
    expect(events.find(({ type }) => type === 'MESSAGES_SNAPSHOT')?.messages).toMatchObject([
      { content: hostile },
    ])
    expect(events.filter(({ type }) => type === 'RUN_ERROR')).toEqual([])
    expect(await logged(String(made!.value!.id), 'user_message')).toMatchObject([{ text: hostile }])
  })
})
