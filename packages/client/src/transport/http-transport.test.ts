import { fakeClock } from '@askback/protocol/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { eventually } from '../eventually.test.helper.js'
import { fakeGateway, json, networkDown, refusal, settle, silence } from './fake-gateway.test.helper.js'
import { HttpTransport, type HttpTransportOptions } from './http-transport.js'

type FakeResponses = Parameters<typeof fakeGateway>

function setup(answers: FakeResponses, options: HttpTransportOptions = {}) {
  const clock = fakeClock()
  const { fetch, received } = fakeGateway(...answers)
  let keys = 0
  const transport = new HttpTransport({
    baseUrl: 'http://gateway/',
    fetch,
    clock,
    random: () => 0,
    newKey: () => `key-${++keys}`,
    ...options,
  })
  return { clock, received, transport }
}

afterEach(() => vi.unstubAllGlobals())

describe('a request', () => {
  it('has the token and the surface', async () => {
    const { transport, received } = setup([json({ agents: [] })], { token: 'secret', surface: 'cli' })
    await transport.agents()
    expect(received[0]).toMatchObject({ url: 'http://gateway/api/agents', method: 'GET' })
    expect(received[0]?.headers.get('authorization')).toBe('Bearer secret')
    expect(received[0]?.headers.get('askback-surface')).toBe('cli')
  })

  it('has neither for the gateway that served the page, where the cookie is used', async () => {
    const { transport, received } = setup([json({ agents: [] })], { baseUrl: '' })
    await transport.agents()
    expect(received[0]?.url).toBe('/api/agents')
    expect(received[0]?.headers.has('authorization')).toBe(false)
    expect(received[0]?.headers.has('askback-surface')).toBe(false)
  })

  it('has the proof of the browser login, read for each request, and never together with a token', async () => {
    let proof: string | null = 'one'
    const { transport, received } = setup(
      [json({ agents: [] }), json({ agents: [] }), json({ agents: [] })],
      {
        proof: () => proof,
      },
    )
    await transport.agents()
    proof = 'two'
    await transport.agents()
    proof = null
    await transport.agents()
    expect(received.map(({ headers }) => headers.get('askback-proof'))).toEqual(['one', 'two', null])
    const other = setup([json({ agents: [] })], { token: 'secret', proof: () => 'one' })
    await other.transport.agents()
    expect(other.received[0]?.headers.has('askback-proof')).toBe(false)
  })

  it.each([
    ['', 'stored'],
    ['http://page', 'stored'],
    ['http://page:1', null],
    ['https://elsewhere', null],
  ])('to %j has the stored proof %s', async (baseUrl, proof) => {
    const login = JSON.stringify({ person: { id: 'me' }, proof: 'stored' })
    vi.stubGlobal('location', new URL('http://page/#/inbox'))
    vi.stubGlobal('localStorage', { getItem: (key: string) => (key === 'askback.login' ? login : null) })
    const { transport, received } = setup([json({ agents: [] })], { baseUrl })
    await transport.agents()
    expect(received[0]?.headers.get('askback-proof')).toBe(proof)
  })

  it('has no proof if the browser blocks storage, or the storage has something else', async () => {
    vi.stubGlobal('location', new URL('http://page/'))
    const blocked = () => {
      throw new Error('denied')
    }
    for (const getItem of [blocked, () => '{', () => '{"proof":1}', () => null]) {
      vi.stubGlobal('localStorage', { getItem })
      const { transport, received } = setup([json({ agents: [] })], { baseUrl: '' })
      await transport.agents()
      expect(received[0]?.headers.has('askback-proof')).toBe(false)
    }
  })

  it('escapes ids, and leaves out empty parameters', async () => {
    const { transport, received } = setup([json({ events: [], next: null })])
    await transport.history('a/b?c', { before: 7 })
    expect(received[0]?.url).toBe('http://gateway/api/sessions/a%2Fb%3Fc/events?before=7')
  })

  it('has one idempotency key per call, which its retries share', async () => {
    const settled = json({ interaction: {}, events: [] })
    const { transport, received, clock } = setup([networkDown, refusal(503, 'unavailable'), settled])
    const input = { sessionId: 's1', interactionId: 'i1', answer: {} }
    const responding = transport.respond(input)
    await settle()
    clock.advance(250)
    await settle()
    clock.advance(500)
    await responding
    await transport.respond(input)
    const keys = received.map(({ headers }) => headers.get('idempotency-key'))
    expect(keys).toEqual(['key-1', 'key-1', 'key-1', 'key-2'])
    expect(received[0]?.body).toEqual({ answer: {} })
  })

  it('uses the key of the caller', async () => {
    const { transport, received } = setup([json({ session: {} })])
    await transport.create({}, { idempotencyKey: 'mine' })
    expect(received[0]?.headers.get('idempotency-key')).toBe('mine')
  })

  it('is sent again if there is no reply in time', async () => {
    const { transport, received, clock } = setup([silence, json({ agents: [] })])
    const asking = transport.agents()
    await settle()
    clock.advance(30_000)
    await settle()
    clock.advance(250)
    await expect(asking).resolves.toEqual([])
    expect(received).toHaveLength(2)
  })

  it('is given up after four attempts', async () => {
    const { transport, received, clock } = setup([networkDown])
    const asking = transport.agents().catch((error: unknown) => error)
    for (const wait of [125, 250, 500]) {
      await settle()
      const known = received.length
      clock.advance(wait - 1)
      await settle()
      expect(received).toHaveLength(known)
      clock.advance(1)
    }
    expect(await asking).toMatchObject({ code: 'unavailable' })
    expect(received).toHaveLength(4)
    expect(clock.armed).toBe(0)
  })

  it('stops when the caller aborts', async () => {
    const { transport, received } = setup([silence])
    const stopping = new AbortController()
    const asking = transport.interrupt('s1', { signal: stopping.signal })
    await eventually(() => expect(received).toHaveLength(1))
    stopping.abort()
    await expect(asking).rejects.toMatchObject({ code: 'unavailable' })
    expect(received).toHaveLength(1)
    await expect(transport.interrupt('s1', { signal: stopping.signal })).rejects.toMatchObject({
      code: 'unavailable',
    })
  })
})

describe('an error', () => {
  it.each([
    ['the body of the gateway', refusal(409, 'ambiguous'), 'ambiguous', 'It is ambiguous.'],
    ['a status alone', () => new Response('', { status: 403 }), 'forbidden', 'The gateway answered 403.'],
    ['an unknown code', refusal(404, 'gone_fishing'), 'not_found', 'It is gone_fishing.'],
    ['a proxy’s page', () => new Response('<h1>Teapot</h1>', { status: 418 }), 'invalid_request', /418/],
    ['a broken gateway', () => new Response('oops', { status: 500 }), 'internal', /500/],
  ] as const)('is made of %s', async (_name, answer, code, message) => {
    const { transport } = setup([answer])
    await expect(transport.agents()).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message) as string,
    })
  })

  it.each([502, 503, 504])('%i is retried', async (status) => {
    const { transport, clock } = setup([() => new Response('<html>', { status }), json({ agents: [] })])
    const asking = transport.agents()
    await settle()
    clock.advance(250)
    await expect(asking).resolves.toEqual([])
  })

  it('with a Retry-After is retried after that time', async () => {
    const { transport, clock, received } = setup([
      refusal(503, 'unavailable', { 'retry-after': '5' }),
      json({ agents: [] }),
    ])
    const asking = transport.agents()
    await settle()
    clock.advance(4999)
    expect(received).toHaveLength(1)
    clock.advance(1)
    await expect(asking).resolves.toEqual([])
  })

  it('is retried if the body cannot be read, although the status is 200', async () => {
    const { transport, clock } = setup([
      () => new Response('{"agents":', { status: 200 }),
      json({ agents: [] }),
    ])
    const asking = transport.agents()
    await settle()
    clock.advance(250)
    await expect(asking).resolves.toEqual([])
  })
})
