import type { Interaction } from '@askback/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Api, approval, question, startTestGateway, type TestGateway } from '../testing/index.js'

let gateway: TestGateway
let person: Api
let id: string
beforeEach(async () => {
  gateway = await startTestGateway({ listen: false })
  person = new Api(gateway)
  id = await person.session({ agent: null, cwd: '/tmp' })
})
afterEach(() => gateway.close())

const say = (what: string, body: unknown) => person.post(`/api/sessions/${id}/${what}`, body)

async function read(item: Interaction): Promise<Interaction> {
  return gateway.host.desk.interaction(id, item.interactionId)
}

describe('a tool call with several different requests', () => {
  const owned = { kind: 'approval', toolName: 'Bash', toolCallId: 'swap', attach: true }

  it('is refused as ambiguous with both, until the body names one', async () => {
    const shown = await person.open(id, { ...owned, request: { input: { command: 'ls' } } })
    const swapped = await person.open(id, { ...owned, request: { input: { command: 'rm' } } })
    for (const route of ['approve', 'deny']) {
      expect(await say(route, { toolCallId: 'swap' })).toMatchObject({
        status: 409,
        body: {
          error: {
            code: 'ambiguous',
            details: {
              interactions: [shown, swapped].map(({ interactionId, digest }) => ({ interactionId, digest })),
            },
          },
        },
      })
    }
    expect((await read(swapped)).status).toBe('pending')
    expect(await say('approve', { toolCallId: 'swap', digest: shown.digest })).toMatchObject({
      status: 409,
      body: { error: { code: 'digest_mismatch' } },
    })
    const { interactionId } = swapped
    expect(await say('deny', { toolCallId: 'swap', interactionId })).toMatchObject({ status: 200 })
    expect((await read(swapped)).settlement).toBe('denied')
  })

  it('is also ambiguous if they are questions', async () => {
    const first = await person.open(id, { ...question, toolCallId: 'swap', attach: true })
    const changed = structuredClone(question)
    changed.request.questions[0]!.question = 'Which one, then?'
    const next = await person.open(id, { ...changed, toolCallId: 'swap', attach: true })
    const answers = { '0': 'SQLite' }
    expect(await say('submit-answers', { toolCallId: 'swap', answers })).toMatchObject({
      status: 409,
      body: { error: { code: 'ambiguous' } },
    })
    expect((await read(first)).settlement).toBe('superseded')
    const named = { toolCallId: 'swap', answers, digest: next.digest }
    expect(await say('submit-answers', named)).toMatchObject({ status: 200 })
  })
})

describe('submit-answers', () => {
  const several = {
    kind: 'question',
    request: {
      questions: [
        {
          header: 'One',
          question: 'Which?',
          options: [{ label: 'A, B' }, { label: 'C' }],
          multiSelect: false,
        },
        {
          header: 'Many',
          question: 'Which?',
          options: [{ label: 'A, B' }, { label: 'C' }],
          multiSelect: true,
        },
      ],
    },
  }

  it('accepts labels, texts and lists by the index of each question', async () => {
    const item = await person.open(id, several)
    const answers = { '0': 'my own', '1': '["A, B","C","and more"]' }
    expect(await say('submit-answers', { toolCallId: 'call', answers })).toMatchObject({
      status: 200,
      body: { ok: true },
    })
    expect((await read(item)).answer).toEqual({
      answers: [
        { selected: [], other: 'my own' },
        { selected: ['A, B', 'C'], other: 'and more' },
      ],
    })
  })

  it('also accepts an array', async () => {
    const item = await person.open(id, several)
    await say('submit-answers', { toolCallId: 'call', answers: { '0': 'C', '1': ['C'] } })
    expect((await read(item)).answer).toEqual({ answers: [{ selected: ['C'] }, { selected: ['C'] }] })
  })

  it.each([
    {},
    { toolCallId: 'call' },
    { answers: {} },
    { toolCallId: 1, answers: {} },
    { toolCallId: 'call', answers: [] },
  ])('needs both of its fields: %o', async (body) => {
    await person.open(id, several)
    expect(await say('submit-answers', body)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request', message: 'toolCallId and answers are required' } },
    })
  })

  it.each([
    {},
    { '0': 'C' },
    { '0': '', '1': '["C"]' },
    { '0': 'C', '1': '[]' },
    { '0': 'C', '1': '["C","C"]' },
    { '0': 'C', '1': 'C' },
    { '0': 'C', '1': '["C"]', '99': 'x' },
  ])('says which index is invalid: %o', async (answers) => {
    const item = await person.open(id, several)
    const refused = await say('submit-answers', { toolCallId: 'call', answers })
    expect(refused.status).toBe(400)
    expect(refused.body.error.message).toMatch(/index \d|"99"/)
    expect((await read(item)).status).toBe('pending')
  })

  it('responds with 404 and 409 before it validates the answers', async () => {
    expect((await say('submit-answers', { toolCallId: 'call', answers: {} })).status).toBe(404)
    const item = await person.open(id, question)
    await person.delete(`/api/sessions/${id}/interactions/${item.interactionId}`)
    expect(await say('submit-answers', { toolCallId: 'call', answers: {} })).toMatchObject({
      status: 409,
      body: { error: { code: 'already_settled', details: { interaction: { settlement: 'cancelled' } } } },
    })
  })

  it('refuses to guess between several', async () => {
    await person.open(id, question)
    await person.open(id, question)
    expect(await say('submit-answers', { toolCallId: 'call', answers: { '0': 'SQLite' } })).toMatchObject({
      status: 409,
      body: { error: { code: 'ambiguous' } },
    })
  })
})

describe('approve and deny', () => {
  it('settle the approval of a tool call', async () => {
    const [yes, no] = [
      await person.open(id, approval),
      await person.open(id, { ...approval, toolCallId: 'other' }),
    ]
    expect((await say('approve', { toolCallId: 'call', digest: yes.digest })).status).toBe(200)
    expect((await say('deny', { toolCallId: 'other', message: 'no' })).status).toBe(200)
    expect(await read(yes)).toMatchObject({ settlement: 'approved', by: { id: 'owner' }, via: 'http' })
    expect(await read(no)).toMatchObject({ settlement: 'denied', message: 'no' })
  })

  it('accept an edited input or a scope, but not both, and check the digest', async () => {
    await person.open(id, approval)
    const updatedInput = { command: 'ls -l' }
    expect((await say('approve', { toolCallId: 'call', updatedInput, scope: 'session' })).status).toBe(400)
    expect((await say('approve', { toolCallId: 'call', digest: 'x' })).status).toBe(409)
    expect((await say('approve', { toolCallId: 'call', scope: 'forever' })).status).toBe(400)
    expect((await say('approve', { toolCallId: 'call', updatedInput })).status).toBe(200)
  })

  it.each(['approve', 'deny'])('%s needs the tool call', async (what) => {
    await person.open(id, question)
    expect((await say(what, {})).status).toBe(400)
    expect((await say(what, { toolCallId: 'call' })).status).toBe(404)
  })

  it('create a rule that can be listed and deleted', async () => {
    await person.open(id, approval)
    await say('approve', { toolCallId: 'call', scope: 'always' })
    type Rules = { rules: { id: string }[] }
    const { body } = await person.get<Rules>('/api/rules')
    expect(body.rules).toEqual([
      expect.objectContaining({
        scope: 'always',
        toolName: 'Bash',
        input: { command: 'ls' },
        cwd: '/tmp',
        agent: null,
        by: { id: 'owner', name: 'Ada' },
      }),
    ])
    expect(await person.open(id, approval)).toMatchObject({ settlement: 'approved', via: 'policy' })
    expect((await person.delete(`/api/rules/${body.rules[0]!.id}`)).status).toBe(200)
    expect((await person.delete(`/api/rules/${body.rules[0]!.id}`)).status).toBe(404)
    expect(await person.open(id, approval)).toMatchObject({ status: 'pending' })
  })
})
