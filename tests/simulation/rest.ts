import type { Clients } from './clients.js'
import type { Connectors } from './connectors.js'
import { checkAllLive, checkWaits } from './final-rules.js'
import type { Hosts } from './hosts.js'
import { LEASE_MS } from './process.js'
import { mortal } from './time.js'
import { holds } from './violation.js'
import type { Waits } from './waits.js'
import type { World } from './world.js'

const PATIENCE = 100
const REPAIR_MS = 6000
const BEAT_MS = 2000
const MOST_ROUNDS = 20
const MOST_PAUSES = 12
const LOCKED_MS = 60
const RETRY_MS = 1100
const RECONNECTS = 3
const MOST_ACTS = 15

export interface Readers {
  /** `isRepaired`: every process has looked for what no bell told of. */
  check: (isRepaired: boolean) => void
  /** One of those who read comes, goes or does something. */
  act: () => void
  clients: Clients
  connectors: Connectors
  hosts: Hosts
}

/** For a moment nothing new begins and nothing fails: what was told by then is the log, also without a repair if no bell was lost. */
export async function quietMoment(world: World, waits: Waits, readers: Readers): Promise<void> {
  const { plan, clock } = world
  // Now and then also what is under way may fail.
  world.faultless = world.random.chance(0.5)
  world.note('a quiet moment')
  await settle(world, readers.act)
  world.faultless = true
  // What could not be read is tried again after a second.
  clock.advance(RETRY_MS)
  await settle(world)
  if (plan.shared) await pauses(world)
  checkWaits(world, waits)
  readers.check(false)
  if (plan.shared && plan.lossy && world.random.chance(0.5)) {
    await repaired(world)
    checkWaits(world, waits)
    readers.check(true)
  }
  if (world.random.chance(0.3)) await checkClients(world, readers.clients)
  world.faultless = false
  world.note('it goes on')
}

/** Ends the faults, lets everything that was begun come to its end, and time go on past every deadline. */
export async function rest(world: World, waits: Waits, readers: Readers): Promise<void> {
  const { random, plan, model, clock } = world
  world.faultless = true
  world.note('rest')
  for (const arrive of world.late.splice(0)) await arrive()
  // The last fault, as later bells would make up for those that are lost.
  for (const process of world.processes) process.isDeaf = false
  world.deaf = plan.shared && plan.lossy && random.chance(0.5)
  await settle(world)
  world.deaf = false
  for (let round = 0; round < 2; round++) await repaired(world)
  // Before anything else rings: a doorbell that was lost has been made up for by now.
  checkWaits(world, waits)
  readers.check(plan.lossy)
  await checkClients(world, readers.clients)
  await checkConnectors(world, readers.connectors)
  await checkAllLive(world)
  // Whoever is told to stop waiting does so, and comes back.
  waits.abortAll()
  await world.drain()
  waits.checkAborted()
  // Whoever lost its answer in a crash comes back for it.
  const waited = new Set(waits.waited)
  for (const { session, request } of model.asked.values()) {
    const { interactionId, sessionId } = request
    // Where a process runs the agent, nobody else waits in its place.
    const isOutside = session.agent !== 'scripted'
    const isThere = isOutside && model.sessions.get(sessionId) === session && !session.ended
    if (isThere && !waited.has(interactionId)) waits.start(sessionId, interactionId)
  }
  await settle(world)
  await passDeadlines(world)
  await repaired(world)
  if (readers.hosts.size === 0) return
  // What a dead process ran is taken over, and its turns end.
  for (let ms = 0; ms < 3 * LEASE_MS; ms += BEAT_MS) {
    clock.advance(BEAT_MS)
    await settle(world)
  }
  const isBusy = () => readers.hosts.isBusy || mortal(world).length > 0
  for (let round = 0; isBusy() && round < MOST_ROUNDS; round++) {
    await passDeadlines(world)
    await repaired(world)
  }
  readers.hosts.checkAtRest()
}

/** Another process goes on with the chat of one that is gone, and looks for what it has missed. */
async function checkConnectors(world: World, connectors: Connectors): Promise<void> {
  if (!world.plan.connector) return
  for (let attempt = 0; attempt < RECONNECTS; attempt++) {
    if (connectors.isDown) connectors.start()
    await settle(world)
    world.clock.advance(REPAIR_MS)
    await settle(world)
  }
  connectors.checkAtRest()
}

/** Whoever lost the connection, or was told that the session is gone, comes back until it is there. */
async function checkClients(world: World, clients: Clients): Promise<void> {
  if (clients.size === 0) return
  for (let attempt = 1; attempt <= MOST_ROUNDS; attempt++) {
    const { length } = world.trace
    clients.reconnect()
    await settle(world)
    world.clock.advance(RETRY_MS)
    await settle(world)
    // What a deadline has ended meanwhile may have cut a slow one once more.
    if (attempt >= RECONNECTS && world.trace.length === length) break
  }
  clients.checkAtRest()
}

/**
 * Lets every process look for what it has missed. Who finds the store locked waits a moment, one after the other; who has
 * waited for too long fails, and tries again after a second.
 */
async function repaired(world: World): Promise<void> {
  if (world.plan.shared) await pauses(world)
  // What is lost from here on, the repair may pass over.
  if (world.plan.lossy) for (const { unheard } of world.live) unheard.clear()
  world.clock.advance(REPAIR_MS)
  await settle(world)
  if (world.plan.shared) await pauses(world)
}

async function pauses(world: World): Promise<void> {
  for (let count = 1; count <= MOST_PAUSES; count++) {
    const { length } = world.trace
    world.clock.advance(count % 3 === 0 ? RETRY_MS : LOCKED_MS)
    await settle(world)
    if (count > 3 && world.trace.length === length) return
  }
}

/** From one to the next, so that each is met in its time: machines differ by less than a second, and retries take one. */
async function passDeadlines(world: World): Promise<void> {
  const { clock } = world
  for (;;) {
    const [first, ...others] = mortal(world)
    if (!first) return
    const next = others.reduce(
      (one, other) => (one.request.expiresAt <= other.request.expiresAt ? one : other),
      first,
    )
    // A process that did not hear of it looks for what ends soon every five seconds.
    const before = next.request.expiresAt - clock.now() - world.offset - REPAIR_MS
    if (before > 0) clock.advance(before)
    if (before > 0) await settle(world)
    const left = next.request.expiresAt - clock.now() - world.offset
    clock.advance(Math.max(0, left) + world.jumped + 2500)
    await settle(world)
    if (!next.response && world.plan.shared) await pauses(world)
    const { interactionId } = next.request
    holds(next.response !== undefined, 'L5', () => `${interactionId} is pending after its deadline`)
  }
}

/**
 * Until nothing is under way but waiting; what `meanwhile` does is part of it. Who is refused often enough lets a moment pass: that
 * may be what is missing.
 */
async function settle(world: World, meanwhile?: () => void): Promise<void> {
  for (let step = 0, retries = 0, acts = 0; ; step++) {
    holds(step < 20_000, 'progress', () => 'it never comes to rest')
    await world.drain()
    if (meanwhile && acts < MOST_ACTS && world.random.chance(0.1)) {
      acts++
      meanwhile()
    }
    if (world.busy.length > 0 && (world.bells === 0 || world.random.chance(0.7))) await world.step()
    else if (world.bells > 0) world.ring()
    else if (world.network.isBusy) world.network.step()
    else if (world.misses) world.startMissing()
    else if (world.retries > 0) {
      world.retryOne()
      if (++retries % PATIENCE === 0) world.clock.advance(1000)
    } else return
  }
}
