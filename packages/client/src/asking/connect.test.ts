import { AskbackError, type Interaction } from '@askback/protocol'
import { fakeClock } from '@askback/protocol/testing'
import { describe, expect, it, vi } from 'vitest'
import type { Fetch } from '../transport/http-calls.js'
import type { Askback } from './askback.js'
import { connect } from './connect.js'

const url = 'http://127.0.0.1:4100'
const token = 'a-token'
const pending = { interactionId: 'i', sessionId: 's', status: 'pending' } as Interaction
const settled = {
  ...pending,
  kind: 'question',
  status: 'settled',
  settlement: 'answered',
  answer: { answers: [{ selected: ['A'] }] },
}

describe('connect', () => {
  it.each<[object, string]>([
    [{ url, token, tokn: 'x' }, 'connect() has no option "tokn". Did you mean "token"?'],
    [{ url: 'localhost', token }, 'connect() needs a url, such as "http://127.0.0.1:4100".'],
    [{ token }, 'connect() needs a url'],
    [{ url, token: '' }, 'connect() needs a token'],
    [{ url }, 'connect() needs a token'],
    [{ url, token, retryFor: 'soon' }, 'retryFor is a number of milliseconds'],
  ])('refuses %j', (target, message) => {
    expect(() => connect(target as Parameters<typeof connect>[0])).toThrow(message)
  })
})

describe('over HTTP', () => {
  it('repeats a call under the same key for as long as a gateway may take to restart', async () => {
    const clock = fakeClock()
    const fetch = vi.fn<Fetch>(async () => {
      throw new TypeError('fetch failed')
    })
    const askback = connect({ url, token, fetch, clock, random: () => 1, retryFor: '30s' })
    const asked = askback
      .session('s')
      .id()
      .catch((error: unknown) => error)
    // After 0, 0.25, 0.75, 1.75, 3.75 and 7.75 s, and then every 5 s.
    await passing(clock, 60)
    expect(await asked).toMatchObject({ code: 'unavailable' })
    expect(fetch).toHaveBeenCalledTimes(11)
    const keys = fetch.mock.calls.map(([, init]) => new Headers(init?.headers).get('idempotency-key'))
    expect(new Set(keys).size).toBe(1)
  })

  it('waits for an answer that much longer than the request is open', async () => {
    const clock = fakeClock()
    const open = { ...pending, requestedAt: 5, expiresAt: 60_005 }
    const askback = connectTo(clock, async (path, method) => {
      if (method === 'POST') return { interaction: open }
      throw new TypeError('fetch failed')
    })
    let isOver = false
    const asked = askback
      .session({ id: 's' })
      .choose('Which?', ['A'])
      .catch((error: unknown) => error)
    void asked.then(() => (isOver = true))
    await passing(clock, 88)
    expect(isOver).toBe(false)
    await passing(clock, 8)
    expect(await asked).toMatchObject({ code: 'unavailable' })
  })

  it('waits without a limit for one that has none', async () => {
    const clock = fakeClock()
    let isAway = true
    const askback = connectTo(clock, async (path, method) => {
      if (method === 'POST') return { interaction: pending }
      if (isAway) throw new TypeError('fetch failed')
      return { interaction: settled }
    })
    const asked = askback.session({ id: 's' }).choose('Which?', ['A'])
    await passing(clock, 3600)
    isAway = false
    await passing(clock, 5)
    expect(await asked).toBe('A')
  })

  it('pauses as long as a busy gateway says, and does not repeat what it refuses', async () => {
    const clock = fakeClock()
    const refusals = [
      new AskbackError('rate_limited', 'Too many.', { details: { retryAfterMs: 20_000 } }),
      new AskbackError('forbidden', 'No.'),
    ]
    const times: number[] = []
    const askback = connectTo(clock, async () => {
      times.push(clock.now())
      throw refusals.shift()!
    })
    const asked = askback
      .session({ id: 's' })
      .choose('Which?', ['A'])
      .catch((error: unknown) => error)
    await passing(clock, 30)
    expect(await asked).toMatchObject({ code: 'forbidden', message: 'No.' })
    expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(20_000)
  })

  it('[L10] polls without a claim, keeps short polls apart, and claims by one read', async () => {
    const clock = fakeClock()
    const polls: string[] = []
    const askback = connectTo(clock, async (path, method) => {
      if (method === 'POST') return { interaction: pending }
      polls.push(path)
      return { interaction: polls.length < 3 ? pending : settled }
    })
    const asked = askback.session({ id: 's' }).choose('Which?', ['A'])
    await passing(clock, 0)
    expect(polls).toHaveLength(1)
    await passing(clock, 2)
    expect(await asked).toBe('A')
    const poll = '/api/sessions/s/interactions/i?wait=20&claim=0'
    expect(polls).toEqual([poll, poll, poll, '/api/sessions/s/interactions/i'])
  })

  it('rejects with the reason of the signal, and not as a lost connection', async () => {
    const clock = fakeClock()
    const leaving = new AbortController()
    const askback = connectTo(clock, async (path, method, signal) => {
      if (method === 'POST') return { interaction: pending }
      await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))))
      return null
    })
    const asked = askback.session({ id: 's' }).choose('Which?', ['A'], { signal: leaving.signal })
    await passing(clock, 0)
    const reason = new Error('shutting down')
    leaving.abort(reason)
    await expect(asked).rejects.toBe(reason)
  })
})

function connectTo(
  clock: ReturnType<typeof fakeClock>,
  reply: (path: string, method: string, signal?: AbortSignal | null) => Promise<unknown>,
): Askback {
  const fetch: Fetch = async (input, init) => {
    try {
      return Response.json(await reply(input.slice(url.length), init?.method ?? 'GET', init?.signal))
    } catch (error) {
      if (!(error instanceof AskbackError)) throw error
      return Response.json(error.toJSON(), { status: 400 })
    }
  }
  return connect({ url, token, fetch, clock, random: () => 1 })
}

/** Lets seconds pass, and after each of them everything that does not wait for time. */
async function passing(clock: ReturnType<typeof fakeClock>, seconds: number): Promise<void> {
  for (let second = 0; second <= seconds; second += 1) {
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    if (second < seconds) clock.advance(1000)
  }
}
