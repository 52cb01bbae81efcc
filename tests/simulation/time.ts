import type { Asked } from './log-model.js'
import type { World } from './world.js'

/** Time goes on, or the clocks are changed; and now and then both at the worst moment. */
export function passTime(world: World): void {
  const { random } = world
  const ms = random.weighted([
    [4, random.between(1, 600)],
    [3, random.between(600, 6000)],
    [1, 120_000],
  ])
  // How long a process has been silent is measured by the clock of another.
  const jumps = world.plan.hosted > 0 ? 0 : 3
  random.weighted([
    [12, () => advance(world, ms)],
    [jumps, () => change(world, ms)],
    [jumps, () => change(world, -ms)],
    [
      jumps,
      () => {
        // The timer rings, and before anything is decided it is not that late any more.
        const left = nextDeadline(world)
        if (left === null) return
        advance(world, Math.max(0, left))
        change(world, -ms)
      },
    ],
  ])()
}

/** What the deadline ends if nobody does. */
export function mortal({ model }: World): (Asked & { request: { expiresAt: number } })[] {
  return [...model.asked.values()].filter(
    (asked): asked is Asked & { request: { expiresAt: number } } =>
      !asked.response &&
      !asked.session.ended &&
      asked.request.expiresAt !== undefined &&
      asked.request.onTimeout !== 'keep',
  )
}

function nextDeadline(world: World): number | null {
  const deadlines = mortal(world).map(({ request }) => request.expiresAt)
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

/** Lets what was promised go on by so many steps, and nothing else. */
export async function microtasks(count: number): Promise<void> {
  for (let index = 0; index < count; index++) await Promise.resolve()
}
