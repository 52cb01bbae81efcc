import { createDesk, type Desk, type LocalTime, type Store } from '@askback/core'
import type { SessionEvent } from '@askback/protocol'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { postgresStore } from './index.js'
import { startPostgres, type PostgresServer } from './testing/index.js'

const MINUTE = 60_000
/** The error that the measurements of two stores may have together, on a busy machine. */
const ERROR_MS = 500
const question = { questions: [{ question: 'Which?', options: [{ label: 'One' }] }] }
const by = { id: 'ada', name: 'Ada' }

let server: PostgresServer
let schemas = 0
const open: { store: Store; desk: Desk }[] = []

beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())
beforeEach(() => void schemas++)
afterEach(async () => {
  for (const { store, desk } of open.splice(0)) {
    desk.close()
    await store.close()
  }
})

/** A desk on a machine whose wall clock is ahead by `aheadMs`. */
async function machine(aheadMs: number) {
  const skew = { aheadMs }
  const localTime: LocalTime = {
    wall: () => Date.now() + skew.aheadMs,
    monotonic: () => performance.now(),
  }
  const store = await postgresStore({
    url: server.url(),
    schema: `clock_${schemas}`,
    connections: 2,
    localTime,
  })
  const desk = createDesk({ store, repairMs: 50 })
  open.push({ store, desk })
  await desk.ready
  return { store, desk, skew, clock: store.clock! }
}

async function databaseTime(): Promise<number> {
  const client = new Client(server.url())
  await client.connect()
  const sql = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now'
  const { rows } = await client.query<{ now: number }>(sql)
  await client.end()
  return rows[0]!.now
}

async function expectDatabaseTime(read: () => number): Promise<void> {
  const before = await databaseTime()
  const time = read()
  expect(time).toBeGreaterThan(before - ERROR_MS)
  expect(time).toBeLessThan((await databaseTime()) + ERROR_MS)
}

describe('the clock of a PostgreSQL store', () => {
  it.each([-90_000, 90_000])(
    'shows the database’s time on a machine whose clock is %d ms ahead',
    async (aheadMs) => {
      const { clock } = await machine(aheadMs)
      await expectDatabaseTime(() => clock.now())
      expect(clock.errorMs).toBeLessThan(ERROR_MS)
      expect(Math.abs(clock.skewMs - aheadMs)).toBeLessThan(ERROR_MS)
    },
  )

  it('does not follow a jump of the machine’s clock, and reports its skew', async () => {
    const { clock, skew } = await machine(0)
    for (const aheadMs of [60 * MINUTE, -60 * MINUTE]) {
      skew.aheadMs = aheadMs
      await expectDatabaseTime(() => clock.now())
      await expect.poll(() => clock.errorMs).toBeLessThan(ERROR_MS)
      await expectDatabaseTime(() => clock.now())
      expect(Math.abs(clock.skewMs - aheadMs)).toBeLessThan(ERROR_MS)
    }
  })

  it('continues while the database cannot be reached', async () => {
    const { clock } = await machine(90_000)
    const before = clock.now()
    await server.stop()
    const passed = performance.now()
    await expect.poll(() => performance.now() - passed).toBeGreaterThan(100)
    expect(clock.now() - before).toBeGreaterThan(100)
    expect(clock.now() - before).toBeLessThan(MINUTE)
    await server.start()
    await expectDatabaseTime(() => clock.now())
  })
})

describe('[L5] desks on machines whose clocks are three minutes apart', () => {
  it('time out nothing early: a request with a deadline in a minute can be answered at either', async () => {
    const desks = [(await machine(-90_000)).desk, (await machine(90_000)).desk]
    for (const [here, there] of [desks, desks.toReversed()] as [Desk, Desk][]) {
      const sessionId = (await here.createSession()).session.id
      const { interaction } = await here.open({
        sessionId,
        kind: 'question',
        request: question,
        timeoutMs: MINUTE,
      })
      await expectDatabaseTime(() => interaction.requestedAt)
      const { interactionId } = interaction
      // Long enough for the other desk to poll the next deadlines twice.
      await there.refresh(sessionId)
      const pause = performance.now()
      await expect.poll(() => performance.now() - pause).toBeGreaterThan(150)
      expect(await there.interaction(sessionId, interactionId)).toMatchObject({ status: 'pending' })
      const answer = { answers: [{ selected: ['One'] }] }
      const answered = await there.as({ by }).respond({ interactionId, answer })
      expect(answered.interaction).toMatchObject({ settlement: 'answered' })
    }
  })

  it('time out on time, at either desk', async () => {
    const slow = await machine(-90_000)
    const fast = await machine(90_000)
    for (const [here, there] of [
      [slow, fast],
      [fast, slow],
    ] as const) {
      const sessionId = (await here.desk.createSession()).session.id
      const opened = await here.desk.open({ sessionId, kind: 'question', request: question, timeoutMs: 400 })
      const { interactionId, expiresAt } = opened.interaction
      const settlement = await there.desk.wait(interactionId, { sessionId, claim: false })
      expect(settlement).toMatchObject({ settlement: 'timed_out' })
      expect(settlement.interaction.settledAt).toBeGreaterThanOrEqual(expiresAt!)
      expect(await databaseTime()).toBeGreaterThan(expiresAt! - ERROR_MS)
    }
  })

  it('write times that never run backwards in one log', async () => {
    const [slow, fast] = [await machine(-90_000), await machine(90_000)]
    await slow.desk.createSession({ id: 's' })
    for (let round = 0; round < 10; round++) {
      for (const { desk } of [fast, slow]) await desk.as({ by }).message({ sessionId: 's', text: `${round}` })
    }
    const times = (await slow.store.read({ sessionId: 's', limit: 100 })).map(
      (event: SessionEvent) => event.at,
    )
    expect(times).toHaveLength(21)
    expect(times).toEqual(times.toSorted((one, other) => one - other))
    await expectDatabaseTime(() => times.at(-1)!)
  })
})
