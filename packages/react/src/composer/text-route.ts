import type { Interaction } from '@askback/protocol'
import type { TextTarget } from './text-target.js'

/** Where a text goes, in the form in which it is sent to the gateway. */
export type ComposerRoute =
  | { route: 'agent' }
  | { route: 'interaction'; interactionId: string; questionIndex?: number }

export const TO_AGENT: ComposerRoute = { route: 'agent' }

export function routeTo(target: TextTarget | null): ComposerRoute {
  if (!target) return TO_AGENT
  const { interaction, questionIndex } = target
  return {
    route: 'interaction',
    interactionId: interaction.interactionId,
    ...(questionIndex !== undefined && { questionIndex }),
  }
}

/** What the person chose: one request, or the agent for as long as only the requests in `among` are pending. */
export type TargetChoice = { interactionId: string } | { among: ReadonlySet<string> }

/**
 * The route of a text that is begun now; `null` if the person has to choose first. A request is replied to without being
 * chosen only if nothing else is pending: with several, a text meant for one could deny or answer another.
 */
export function nextRoute(options: {
  pending: readonly Interaction[]
  targets: TextTarget[]
  choice: TargetChoice | null
}): ComposerRoute | null {
  const { pending, targets, choice } = options
  const [only] = targets
  if (!only) return TO_AGENT
  if (choice && 'among' in choice && pending.every((item) => choice.among.has(item.interactionId)))
    return TO_AGENT
  if (choice && 'interactionId' in choice) {
    const chosen = targets.find(({ interaction }) => interaction.interactionId === choice.interactionId)
    if (chosen) return routeTo(chosen)
  }
  return pending.length === 1 ? routeTo(only) : null
}

/** The target of a route; `null` for the agent, and if the target no longer takes a text. */
export function targetOf(route: ComposerRoute, targets: TextTarget[]): TextTarget | null {
  if (route.route === 'agent') return null
  const isMeant = ({ interaction, questionIndex }: TextTarget) =>
    interaction.interactionId === route.interactionId && questionIndex === route.questionIndex
  return targets.find(isMeant) ?? null
}

/** Whether the target of a route still takes a text. The agent always does. */
export function canDeliver(route: ComposerRoute, targets: TextTarget[]): boolean {
  return route.route === 'agent' || targetOf(route, targets) !== null
}

export function isComposerRoute(value: unknown): value is ComposerRoute {
  if (typeof value !== 'object' || value === null) return false
  const { route, interactionId, questionIndex } = value as Partial<Record<string, unknown>>
  if (route !== 'interaction') return route === 'agent'
  const isIndex = questionIndex === undefined || typeof questionIndex === 'number'
  return typeof interactionId === 'string' && isIndex
}
