import type { Append, KvEntry } from '@askback/core'
import type { Json } from '@askback/protocol'
import type { Process } from './process.js'
import { holds } from './violation.js'
import type { World } from './world.js'

const LEASE = 'lease/'

/** A session is taken only from a process that is not there any more. */
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

/** What an agent asked for is given to the process that runs it, and to no other that thinks it does. */
export async function checkClaimant(world: World, process: Process, append: Append): Promise<void> {
  const { sessionId, events } = append
  const { gatewayId, gatewayIds } = process
  const isHosted = world.model.sessions.get(sessionId)?.agent === 'scripted'
  const isClaimed = events.some(({ type }) => type === 'interaction_delivered')
  if (!isHosted || !isClaimed || gatewayId === null) return
  const lease = await world.disk.kv.get(`${LEASE}${sessionId}`)
  const owner = lease && ownerOf(lease.value)
  // One that was taken for dead has another name, and keeps what nobody took.
  const isOwn = owner !== null && gatewayIds.has(owner)
  world.guard(() => holds(isOwn, 'leases', () => `${gatewayId} claims in ${sessionId}, which ${owner} runs`))
}

function ownerOf(value: Json): string {
  return (value as { gateway: string }).gateway
}
