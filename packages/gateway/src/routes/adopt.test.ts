import type { ErrorBody, Session } from '@askback/protocol'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickAgent } from '../testing/test-agents.test.helper.js'
import { Api, startTestGateway, type TestGateway } from '../testing/index.js'

const LIMIT = 64 * 1024
const lines = (...all: unknown[]) => all.map((line) => `${JSON.stringify(line)}\n`).join('')
const head = (agentSessionId: string) => ({ agent: 'quick', agentSessionId, cwd: '/work', title: 'Outside' })
const said = { type: 'user_message', at: 1, text: 'go' }

let gateway: TestGateway
let person: Api
beforeAll(async () => {
  gateway = await startTestGateway({
    agents: [quickAgent],
    config: { limits: { bodyBytes: 4096, historyBytes: LIMIT, jsonDepth: 20 } },
  })
  person = new Api(gateway)
})
afterAll(() => gateway.close())

type Answer = { session?: Session; created?: boolean } & Partial<ErrorBody>

/** Sends the body in chunks of `chunks` bytes, if set. */
async function send(
  text: string,
  { path = '/api/sessions/adopt', chunks = 0 } = {},
): Promise<{ status: number; body: Answer }> {
  const bytes = Buffer.from(text)
  const pieces = Array.from({ length: chunks ? Math.ceil(bytes.length / chunks) : 0 }, (_, index) =>
    bytes.subarray(index * chunks, (index + 1) * chunks),
  )
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/x-ndjson' },
    body: chunks ? (Readable.toWeb(Readable.from(pieces)) as ReadableStream) : bytes,
    ...(chunks > 0 && { duplex: 'half' }),
  })
  return { status: response.status, body: (await response.json()) as Answer }
}

describe('an adopted session', () => {
  it('is accepted as JSON or NDJSON, and created once', async () => {
    const whole = await person.post<Answer>('/api/sessions/adopt', { ...head('a'), items: [said] })
    expect(whole).toMatchObject({
      status: 201,
      body: { created: true, session: { id: 'quick.a', title: 'Outside' } },
    })
    expect(await send(lines(head('a'), said))).toMatchObject({ status: 200, body: { created: false } })
    expect(await send(lines(head('b'), said))).toMatchObject({
      status: 201,
      body: { session: { id: 'quick.b' } },
    })
  })

  it.each([1, 7, 100])('is read in chunks of %i bytes', async (chunks) => {
    const text = '✓'.repeat(20)
    const body = `${lines(head(`pieces-${chunks}`), { ...said, text })}\n\n${JSON.stringify(said)}`
    expect(await send(body, { chunks })).toMatchObject({ status: 201 })
    const { body: page } = await person.get<{ events: { type: string; text?: string }[] }>(
      `/api/sessions/quick.pieces-${chunks}/events`,
      { accept: 'application/json' },
    )
    const messages = page.events.filter(({ type }) => type === 'user_message')
    expect(messages.map((event) => event.text)).toEqual([text, 'go'])
  })

  it('may be larger than any other body, and accepts messages like any other session', async () => {
    const text = 'x'.repeat(4000)
    const items = Array.from({ length: 10 }, () => ({ type: 'text', at: 1, text }))
    expect(await send(lines(head('long'), ...items))).toMatchObject({ status: 201 })
    const message = await person.post('/api/sessions/quick.long/messages', { text: 'go on' })
    expect(message).toMatchObject({ status: 202, body: { routed: 'agent' } })
  })
})

describe('an invalid adoption', () => {
  it.each<[string, string, number, string]>([
    ['nothing', '', 400, 'The first line must be an object.'],
    ['no object', lines([1]), 400, 'The first line must be an object.'],
    ['no JSON', `${lines(head('x'))}{"type":\n`, 400, 'The body is not valid JSON'],
    [
      'an item of another type',
      lines(head('x'), { type: 'error' }),
      400,
      'The body does not fit at items[0].type',
    ],
    [
      'too many levels',
      lines(head('x'), JSON.parse('['.repeat(30) + ']'.repeat(30))),
      400,
      'nested too deeply',
    ],
    ['too much', lines(head('x'), { ...said, text: 'x'.repeat(LIMIT) }), 413, 'larger than 64 kB'],
    [
      'an agent that is not here',
      lines({ ...head('x'), agent: 'nobody' }),
      400,
      'There is no agent "nobody" here.',
    ],
  ])('%s is refused', async (_, body, status, message) => {
    const answered = await send(body)
    expect(answered).toMatchObject({
      status,
      body: { error: { message: expect.stringContaining(message) as unknown } },
    })
    expect((await person.get('/api/sessions/quick.x')).status).toBe(404)
  })

  it('NDJSON is accepted for adoption only', async () => {
    expect(await send(lines({ agent: null }), { path: '/api/sessions' })).toMatchObject({
      status: 415,
      body: { error: { code: 'unsupported_media_type' } },
    })
  })
})
