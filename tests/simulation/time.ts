import type { LoggedInteraction } from './log-model.js'
import type { World } from './world.js'

/** Advances the time or changes the wall clocks; sometimes both at a deadline, which is the worst moment. */
export function passTime(world: World): void {
  const { random } = world
  const ms = random.weighted([
    [4, random.between(1, 600)],
    [3, random.between(600, 6000)],
    [1, 120_000],
  ])
  // Leases expire by the wall clock of another process, so runs with hosts have no clock changes.
  const jumps = world.plan.hosted > 0 ? 0 : 3
  random.weighted([
    [12, () => advance(world, ms)],
    [jumps, () => change(world, ms)],
    [jumps, () => change(world, -ms)],
    [
      jumps,
      () => {
        // The timer fires, and then the clock is set back: at the decision the deadline is in the future again.
        const left = nextDeadline(world)
        if (left === null) return
        advance(world, Math.max(0, left))
        change(world, -ms)
      },
    ],
  ])()
}

/** The pending interactions that their deadline will settle. */
export function withDeadline({ model }: World): (LoggedInteraction & { request: { expiresAt: number } })[] {
  return [...model.interactions.values()].filter(
    (asked): asked is LoggedInteraction & { request: { expiresAt: number } } =>
      !asked.response &&
      !asked.session.ended &&
      asked.request.expiresAt !== undefined &&
      asked.request.onTimeout !== 'keep',
  )
}

function nextDeadline(world: World): number | null {
  const deadlines = withDeadline(world).map(({ request }) => request.expiresAt)
  return deadlines.length === 0 ? null : Math.min(...deadlines) - world.clock.now() - world.offset
}

function advance(world: World, ms: number): void {
  world.note(`${ms} ms pass`)
  world.clock.advance(ms)
}

function change(world: World, ms: number): void {
  world.note(`the clocks are changed by ${ms} ms`)
  world.offset += ms
  world.jumped += Math.abs(ms)
}

/** Runs so many rounds of promise callbacks, and no timers. */
export async function microtasks(count: number): Promise<void> {
  for (let index = 0; index < count; index++) await Promise.resolve()
}
