import type { SessionDefaults } from '@askback/core'
import { cancelAll } from './controls.js'
import type { Plan } from './plan.js'
import type { Random } from './random.js'
import { reportTexts } from './reports.js'
import { tail } from './tails.js'
import type { World } from './world.js'

const MAX_GROWTH = 40

/** Where hosts run agents, those of the other sessions are outside. */
export function randomSession(random: Random, { hosted }: Plan): SessionDefaults {
  return {
    agent: hosted > 0 ? null : random.pick([null, 'demo']),
    ...(random.chance(0.6) && { cwd: '/w' }),
    permissionMode: random.pick(['default', 'default', 'acceptEdits', 'plan', 'bypassPermissions']),
  }
}

export function create(
  world: World,
  id: string,
  session: SessionDefaults,
  { key = `create ${id}`, created = () => {} }: { key?: string; created?: () => void } = {},
): void {
  const again = () => world.retry(key, () => create(world, id, session, { key, created }))
  world.call(`create ${id}`, (desk) => desk.createSession({ ...session, id, idempotencyKey: key }), {
    done: created,
    refused: (error) => {
      if (error.code === 'unavailable') again()
    },
    lost: again,
  })
}

/**
 * Deletes a session and makes it again at once under the same id, mostly with a log that soon is as long. Whoever read the
 * old one comes back.
 */
export function remake(world: World, id: string, session: SessionDefaults): void {
  const length = world.model.sessions.get(id)?.events.length ?? 0
  const { random, plan } = world
  const most = Math.min(length, MAX_GROWTH) + 10
  const grow = () => {
    for (let left = random.below(most + 1); left > 0; left -= 4) {
      const report = () => reportTexts(world, id, Math.min(left, 4))
      if (random.chance(0.3)) report()
      else world.retry(`grow ${id}`, report)
    }
    for (let count = 0; count < plan.tails; count++) tail(world, id)
  }
  cancelAll(world, id, 'delete', () =>
    create(world, id, session, { key: world.newId('create'), created: grow }),
  )
}
