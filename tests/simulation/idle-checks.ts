import type { Clients } from './clients.js'
import type { Connectors } from './connectors.js'
import { checkAllLive, checkWaits } from './final-rules.js'
import type { Hosts } from './hosts.js'
import { LEASE_MS } from './process.js'
import { withDeadline } from './time.js'
import { holds } from './violation.js'
import type { Waits } from './waits.js'
import type { World } from './world.js'

const PATIENCE = 100
const REPAIR_MS = 6000
const BEAT_MS = 2000
const MAX_ROUNDS = 20
const MAX_PAUSES = 12
const LOCKED_MS = 60
const RETRY_MS = 1100
const RECONNECTS = 3
const MAX_ACTS = 15

export interface Readers {
  /** `isRepaired`: every process has polled the store for changes whose doorbells it missed. */
  check: (isRepaired: boolean) => void
  /** One reader connects, disconnects or does something. */
  act: () => void
  clients: Clients
  connectors: Connectors
  hosts: Hosts
}

/** Pauses commands and faults, waits until nothing is in progress, and checks that every reader has received the whole log. */
export async function quietMoment(world: World, waits: Waits, readers: Readers): Promise<void> {
  const { plan, clock } = world
  // In half of the cases calls in progress may still fail.
  world.faultless = world.random.chance(0.5)
  world.note('a quiet moment')
  await runUntilIdle(world, readers.act)
  world.faultless = true
  // Failed reads are retried after a second.
  clock.advance(RETRY_MS)
  await runUntilIdle(world)
  if (plan.shared) await passRetryPauses(world)
  checkWaits(world, waits)
  readers.check(false)
  if (plan.shared && plan.lossy && world.random.chance(0.5)) {
    await pollMissedChanges(world)
    checkWaits(world, waits)
    readers.check(true)
  }
  if (world.random.chance(0.3)) await checkClients(world, readers.clients)
  world.faultless = false
  world.note('the quiet moment ends')
}

/** Ends the faults, completes everything that is in progress, and advances the time past every deadline. */
export async function rest(world: World, waits: Waits, readers: Readers): Promise<void> {
  const { random, plan, model, clock } = world
  world.faultless = true
  world.note('rest')
  for (const arrive of world.late.splice(0)) await arrive()
  // Losing doorbells is the last fault: after it no later doorbell makes up for the lost ones, so only polling helps.
  for (const process of world.processes) process.losesDoorbells = false
  world.losesAllDoorbells = plan.shared && plan.lossy && random.chance(0.5)
  await runUntilIdle(world)
  world.losesAllDoorbells = false
  for (let round = 0; round < 2; round++) await pollMissedChanges(world)
  // Checked before the next doorbell: polling must have made up for the lost ones.
  checkWaits(world, waits)
  readers.check(plan.lossy)
  await checkClients(world, readers.clients)
  await checkConnectors(world, readers.connectors)
  await checkAllLive(world)
  // Waiters that are aborted stop, and later start again.
  waits.abortAll()
  await world.drain()
  waits.checkAborted()
  // Agents that lost their answers in a crash wait again.
  const waited = new Set(waits.waited)
  for (const { session, request } of model.interactions.values()) {
    const { interactionId, sessionId } = request
    // If a process runs the agent, only that agent waits.
    const isOutside = session.agent !== 'scripted'
    const isThere = isOutside && model.sessions.get(sessionId) === session && !session.ended
    if (isThere && !waited.has(interactionId)) waits.start(sessionId, interactionId)
  }
  await runUntilIdle(world)
  await passDeadlines(world)
  await pollMissedChanges(world)
  if (readers.hosts.size === 0) return
  // Other processes take over the sessions of dead ones, and their turns end.
  for (let ms = 0; ms < 3 * LEASE_MS; ms += BEAT_MS) {
    clock.advance(BEAT_MS)
    await runUntilIdle(world)
  }
  const isBusy = () => readers.hosts.isBusy || withDeadline(world).length > 0
  for (let round = 0; isBusy() && round < MAX_ROUNDS; round++) {
    await passDeadlines(world)
    await pollMissedChanges(world)
  }
  readers.hosts.checkAtRest()
}

/** Another process takes over the chat of a dead one and catches up with what it missed. */
async function checkConnectors(world: World, connectors: Connectors): Promise<void> {
  if (!world.plan.connector) return
  for (let attempt = 0; attempt < RECONNECTS; attempt++) {
    if (connectors.isDown) connectors.start()
    await runUntilIdle(world)
    world.clock.advance(REPAIR_MS)
    await runUntilIdle(world)
  }
  connectors.checkAtRest()
}

/** Clients that lost the connection, or whose session was erased, reconnect until they are up to date. */
async function checkClients(world: World, clients: Clients): Promise<void> {
  if (clients.size === 0) return
  for (let attempt = 1; attempt <= MAX_ROUNDS; attempt++) {
    const { length } = world.trace
    clients.reconnect()
    await runUntilIdle(world)
    world.clock.advance(RETRY_MS)
    await runUntilIdle(world)
    // Settlements by deadline may have disconnected a slow client once more.
    if (attempt >= RECONNECTS && world.trace.length === length) break
  }
  clients.checkAtRest()
}

/**
 * Lets every process poll the store for what it has missed. A process that finds a session locked waits for the lock; one that
 * has waited too long fails, and retries after a second. The pauses before and after leave time for both.
 */
async function pollMissedChanges(world: World): Promise<void> {
  if (world.plan.shared) await passRetryPauses(world)
  // The poll covers only doorbells that were missed before it.
  if (world.plan.lossy) for (const { missedDoorbells } of world.live) missedDoorbells.clear()
  world.clock.advance(REPAIR_MS)
  await runUntilIdle(world)
  if (world.plan.shared) await passRetryPauses(world)
}

async function passRetryPauses(world: World): Promise<void> {
  for (let count = 1; count <= MAX_PAUSES; count++) {
    const { length } = world.trace
    world.clock.advance(count % 3 === 0 ? RETRY_MS : LOCKED_MS)
    await runUntilIdle(world)
    if (count > 3 && world.trace.length === length) return
  }
}

/** Advances from one deadline to the next. The margins cover clocks that differ by up to a second, and a retry after another. */
async function passDeadlines(world: World): Promise<void> {
  const { clock } = world
  for (;;) {
    const [first, ...others] = withDeadline(world)
    if (!first) return
    const next = others.reduce(
      (one, other) => (one.request.expiresAt <= other.request.expiresAt ? one : other),
      first,
    )
    // A process that missed the doorbell polls for approaching deadlines every five seconds.
    const before = next.request.expiresAt - clock.now() - world.offset - REPAIR_MS
    if (before > 0) clock.advance(before)
    if (before > 0) await runUntilIdle(world)
    const left = next.request.expiresAt - clock.now() - world.offset
    clock.advance(Math.max(0, left) + world.jumped + 2500)
    await runUntilIdle(world)
    if (!next.response && world.plan.shared) await passRetryPauses(world)
    const { interactionId } = next.request
    holds(next.response !== undefined, 'L5', () => `${interactionId} is pending after its deadline`)
  }
}

/**
 * Runs until only waiters are left; `meanwhile` is called at random in between. After many refused retries it advances the time,
 * as a retry may wait for a deadline or a lease to pass.
 */
async function runUntilIdle(world: World, meanwhile?: () => void): Promise<void> {
  for (let step = 0, retries = 0, acts = 0; ; step++) {
    holds(step < 20_000, 'progress', () => 'the run never becomes idle')
    await world.drain()
    if (meanwhile && acts < MAX_ACTS && world.random.chance(0.1)) {
      acts++
      meanwhile()
    }
    if (world.busy.length > 0 && (world.doorbells === 0 || world.random.chance(0.7))) await world.step()
    else if (world.doorbells > 0) world.deliverDoorbell()
    else if (world.network.isBusy) world.network.step()
    else if (world.needsProcess) world.startMissing()
    else if (world.retries > 0) {
      world.retryOne()
      if (++retries % PATIENCE === 0) world.clock.advance(1000)
    } else return
  }
}
