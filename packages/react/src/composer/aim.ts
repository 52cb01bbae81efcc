import type { Interaction } from '@askback/protocol'
import type { TextTarget } from './text-target.js'

/** Where a text goes, as it is sent. */
export type Aim = { route: 'agent' } | { route: 'interaction'; interactionId: string; questionIndex?: number }

export const TO_AGENT: Aim = { route: 'agent' }

export function aimAt(target: TextTarget | null): Aim {
  if (!target) return TO_AGENT
  const { interaction, questionIndex } = target
  return {
    route: 'interaction',
    interactionId: interaction.interactionId,
    ...(questionIndex !== undefined && { questionIndex }),
  }
}

/** What somebody picked: one request, or the agent while nothing else is pending than was then. */
export type Choice = { interactionId: string } | { among: ReadonlySet<string> }

/**
 * Where a text goes that is begun now; `null` where somebody has to choose first. Only a request that is pending alone is
 * replied to without being chosen: with several, a text meant for one would deny or answer another.
 */
export function nextAim(at: {
  pending: readonly Interaction[]
  targets: TextTarget[]
  choice: Choice | null
}): Aim | null {
  const { pending, targets, choice } = at
  const [only] = targets
  if (!only) return TO_AGENT
  if (choice && 'among' in choice && pending.every((item) => choice.among.has(item.interactionId)))
    return TO_AGENT
  if (choice && 'interactionId' in choice) {
    const chosen = targets.find(({ interaction }) => interaction.interactionId === choice.interactionId)
    if (chosen) return aimAt(chosen)
  }
  return pending.length === 1 ? aimAt(only) : null
}

/** `null` for the agent, and where it no longer waits. */
export function targetOf(aim: Aim, targets: TextTarget[]): TextTarget | null {
  if (aim.route === 'agent') return null
  const isMeant = ({ interaction, questionIndex }: TextTarget) =>
    interaction.interactionId === aim.interactionId && questionIndex === aim.questionIndex
  return targets.find(isMeant) ?? null
}

/** Whether a text with this aim still has somebody to go to. */
export function isTaken(aim: Aim, targets: TextTarget[]): boolean {
  return aim.route === 'agent' || targetOf(aim, targets) !== null
}

export function isAim(value: unknown): value is Aim {
  if (typeof value !== 'object' || value === null) return false
  const { route, interactionId, questionIndex } = value as Partial<Record<string, unknown>>
  if (route !== 'interaction') return route === 'agent'
  const isIndex = questionIndex === undefined || typeof questionIndex === 'number'
  return typeof interactionId === 'string' && isIndex
}
