import { holds } from './violation.js'
import type { Waits } from './waits.js'
import type { World } from './world.js'

/** Ends the faults, lets everything that was begun come to its end, and time go on past every deadline. */
export async function rest(world: World, waits: Waits): Promise<void> {
  const { model, clock } = world
  world.faultless = true
  world.note('rest')
  for (const arrive of world.late.splice(0)) await arrive()
  await settle(world)
  for (let round = 0; round < 2; round++) {
    clock.advance(6000)
    await settle(world)
  }
  // Whoever lost its answer in a crash comes back for it.
  const waited = new Set(waits.waited)
  for (const { session, request } of model.asked.values()) {
    const { interactionId, sessionId } = request
    const isThere = model.sessions.get(sessionId) === session && !session.ended
    if (isThere && !waited.has(interactionId)) waits.start(sessionId, interactionId)
  }
  await settle(world)
  // What was still on its way to be asked gets a deadline of its own on the way.
  for (let round = 0; round < 4; round++) {
    const deadlines = [...model.asked.values()].map(({ request }) => request.expiresAt ?? 0)
    const left = Math.max(0, ...deadlines) - clock.now() - world.offset
    clock.advance(Math.max(5000, left) + world.jumped + 1000)
    await settle(world)
  }
}

/** Until nothing is under way but waiting. */
async function settle(world: World): Promise<void> {
  for (let step = 0; ; step++) {
    holds(step < 20_000, 'progress', () => 'it never comes to rest')
    await world.drain()
    if (world.busy.length > 0 && (world.bells === 0 || world.random.chance(0.7))) await world.step()
    else if (world.bells > 0) world.ring()
    else if (world.live.length < world.plan.processes) world.startMissing()
    else if (world.retries > 0) world.retryOne()
    else return
  }
}
