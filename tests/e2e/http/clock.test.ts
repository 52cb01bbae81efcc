import type { Interaction, SessionEvent } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { at, question, serve, sqlite, type RunningGateway } from './gateways.js'
import { clockOf, jumpClock } from './set-clock.js'

const MINUTE = 60_000

describe('[L4] a gateway on a file whose clock is set', () => {
  it('forwards, past a deadline: the interaction times out at once, for reads and for answers', async () => {
    const { gateway, item } = await opened({ jumpMs: 2 * MINUTE })
    jumpClock(gateway)
    // Much less than the minute that was left, and much more than the second that it needs.
    await expect
      .poll(() => read(gateway, item), { timeout: 20_000 })
      .toMatchObject({ settlement: 'timed_out' })
    const late = await gateway.call('POST', `${at(item)}/response`, { body: sqlite })
    expect(late).toMatchObject({ status: 409, body: { error: { code: 'already_settled' } } })
  })

  it('backwards: pending interactions keep their remaining time, and times in the log do not decrease', async () => {
    const { gateway, item } = await opened({ jumpMs: -60 * MINUTE })
    const before = await now(gateway, item)
    jumpClock(gateway)
    const short = await open(gateway, item.sessionId, 1000)
    expect(short.expiresAt).toBeGreaterThanOrEqual(before + 1000)
    await expect
      .poll(() => read(gateway, short), { timeout: 20_000 })
      .toMatchObject({ settlement: 'timed_out' })
    expect(await read(gateway, item)).toMatchObject({ status: 'pending' })
    expect(await now(gateway, item)).toBeGreaterThan(before)
    expect((await gateway.call('POST', `${at(item)}/response`, { body: sqlite })).status).toBe(200)
    const times = (await events(gateway, item)).map((event) => event.at)
    expect(times).toEqual(times.toSorted((one, other) => one - other))
  })
})

async function opened(clock: { jumpMs: number }): Promise<{ gateway: RunningGateway; item: Interaction }> {
  const gateway = await serve({ env: clockOf(clock) })
  return { gateway, item: await open(gateway, await gateway.session(), MINUTE) }
}

async function open(gateway: RunningGateway, id: string, timeoutMs: number): Promise<Interaction> {
  const { body } = await gateway.call<{ interaction: Interaction }>(
    'POST',
    `/api/sessions/${id}/interactions`,
    { body: { ...question, timeoutMs }, as: gateway.ready.agentToken },
  )
  return body.interaction
}

async function read(gateway: RunningGateway, item: Interaction): Promise<Interaction> {
  return (await gateway.call<{ interaction: Interaction }>('GET', at(item))).body.interaction
}

async function now(gateway: RunningGateway, { sessionId }: Interaction): Promise<number> {
  return (await gateway.call<{ now: number }>('GET', `/api/sessions/${sessionId}`)).body.now
}

async function events({ ready }: RunningGateway, { sessionId }: Interaction): Promise<SessionEvent[]> {
  const response = await fetch(`${ready.url}/api/sessions/${sessionId}/events?limit=1000`, {
    headers: { authorization: `Bearer ${ready.token}`, accept: 'application/json' },
  })
  return ((await response.json()) as { events: SessionEvent[] }).events
}
