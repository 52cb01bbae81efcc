import type { SessionDefaults } from '@askback/core'
import { cancelAll } from './controls.js'
import type { Plan } from './plan.js'
import type { Random } from './random.js'
import { reportTexts } from './reports.js'
import { tail } from './tails.js'
import type { World } from './world.js'

const MAX_GROWTH = 40

/** In runs with hosts, the sessions without a host have no named agent: a host would report it as lost. */
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
 * Deletes a session and creates it again at once under the same id, mostly with a log that soon is as long as the old one. New
 * readers connect with positions in the old log, which must not be taken for positions in the new one.
 */
export function recreate(world: World, id: string, session: SessionDefaults): void {
  const length = world.model.sessions.get(id)?.events.length ?? 0
  const { random, plan } = world
  const maxEvents = Math.min(length, MAX_GROWTH) + 10
  const grow = () => {
    for (let left = random.below(maxEvents + 1); left > 0; left -= 4) {
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
