import type { Append, KvEntry } from '@askback/core'
import type { Json } from '@askback/protocol'
import type { Process } from './process.js'
import { holds } from './violation.js'
import type { World } from './world.js'

const LEASE = 'lease/'

/** A lease is taken only from a process that no longer runs. */
export async function checkTaken(
  world: World,
  { key, value }: { key: string; value: Json | null },
  before: KvEntry | null,
): Promise<void> {
  if (!key.startsWith(LEASE) || value === null || before === null) return
  const owner = ownerOf(before.value)
  if (owner === ownerOf(value)) return
  const lives = (await world.disk.kv.get(`gateway/${owner}`)) !== null
  world.guard(() => holds(!lives, 'leases', () => `${key} was taken from ${owner}, which lives`))
}

/** Only the process that holds the lease claims for its agent, not one that wrongly believes to hold it. */
export async function checkClaimant(world: World, process: Process, append: Append): Promise<void> {
  const { sessionId, events } = append
  const { gatewayId, gatewayIds } = process
  const isHosted = world.model.sessions.get(sessionId)?.agent === 'scripted'
  const isClaimed = events.some(({ type }) => type === 'interaction_delivered')
  if (!isHosted || !isClaimed || gatewayId === null) return
  const lease = await world.disk.kv.get(`${LEASE}${sessionId}`)
  const owner = lease && ownerOf(lease.value)
  // A process that was taken for dead has a new id, and keeps the leases that no other has taken.
  const isOwn = owner !== null && gatewayIds.has(owner)
  world.guard(() => holds(isOwn, 'leases', () => `${gatewayId} claims in ${sessionId}, which ${owner} runs`))
}

function ownerOf(value: Json): string {
  return (value as { gateway: string }).gateway
}
