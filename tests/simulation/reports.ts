import type { ReportedEvent } from '@askback/core'
import type { World } from './world.js'
import { holds } from './violation.js'

/** Reports of an agent about its work, sometimes repeated. */
export function report(world: World, sessionId: string): void {
  tell(world, sessionId, randomReport(world, sessionId))
}

/** Reports enough events for the desk to save a snapshot. */
export function reportMuch(world: World, sessionId: string): void {
  tell(world, sessionId, flood(world, 24))
}

/** Reports text blocks, whose only effect is a longer log. */
export function reportTexts(world: World, sessionId: string, count: number): void {
  tell(
    world,
    sessionId,
    Array.from({ length: count }, () => ({ type: 'text', blockId: world.newId('block'), text: 'Hello.' })),
  )
}

function tell(world: World, sessionId: string, events: ReportedEvent[]): void {
  const types = events.length > 4 ? `${events.length} events` : events.map(({ type }) => type).join()
  world.call(`report ${types} in ${sessionId}`, (desk) => desk.report({ sessionId, events }), {
    done: () => {},
    refused: (error) => {
      const expected = error.code === 'unavailable' || error.code === 'not_found'
      holds(expected, 'report', () => `a report was refused: ${error.message}`)
    },
  })
}

function randomReport(world: World, sessionId: string): ReportedEvent[] {
  const { random, model, plan } = world
  if (random.chance(plan.floods)) return flood(world, random.pick([0, 0, 24]))
  const session = model.sessions.get(sessionId)
  const toolCallId = `${sessionId}-t${random.between(1, 3)}`
  const turnId = session?.activeTurnId ?? world.newId('turn')
  const blockId = world.newId('block')
  return random.weighted<() => ReportedEvent[]>([
    [4, () => [call(world, toolCallId)]],
    [2, () => [call(world, toolCallId), call(world, toolCallId)]],
    [3, () => [{ type: 'tool_result', toolCallId, output: 'ok', isError: random.chance(0.3) }]],
    [4, () => [{ type: 'turn_started', turnId: world.newId('turn') }]],
    [3, () => [{ type: 'turn_ended', turnId, reason: 'done' }]],
    [1, () => [{ type: 'error', code: 'agent_failed', message: 'It broke.', fatal: random.chance(0.5) }]],
    [2, () => [{ type: 'error', code: 'agent_lost', message: 'It is gone.', fatal: true }]],
    [1, () => [{ type: 'agent_session', agentSessionId: random.pick(['x', 'y']) }]],
    [1, () => [{ type: 'text', blockId, text: 'Hello.' }]],
    [
      1,
      () => [
        call(world, toolCallId),
        { type: 'tool_result', toolCallId, output: 1, isError: false },
        { type: 'error', code: 'agent_failed', message: 'It broke.', fatal: true },
      ],
    ],
  ])()
}

function call({ random }: World, toolCallId: string): ReportedEvent {
  const input = random.pick([{ command: 'paint wall' }, { command: 'askback ask' }])
  return { type: 'tool_call', toolCallId, toolName: 'Bash', input }
}

/** Enough turns to push all earlier ones out of the state's window. */
function flood(world: World, texts: number): ReportedEvent[] {
  return Array.from({ length: 22 }, () => world.newId('turn')).flatMap((turnId): ReportedEvent[] => [
    { type: 'turn_started', turnId },
    ...Array.from(
      { length: texts },
      (_, index) => ({ type: 'text', blockId: `${turnId}.${index}`, text: 'Well.' }) as const,
    ),
    { type: 'turn_ended', turnId, reason: 'done' },
  ])
}
