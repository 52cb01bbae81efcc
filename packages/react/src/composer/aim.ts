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

/** `null` for the agent, `undefined` where it no longer waits. */
export function targetOf(aim: Aim, targets: TextTarget[]): TextTarget | null | undefined {
  if (aim.route === 'agent') return null
  return targets.find(
    ({ interaction, questionIndex }) =>
      interaction.interactionId === aim.interactionId && questionIndex === aim.questionIndex,
  )
}

export function isAim(value: unknown): value is Aim {
  if (typeof value !== 'object' || value === null) return false
  const { route, interactionId, questionIndex } = value as Partial<Record<string, unknown>>
  if (route !== 'interaction') return route === 'agent'
  const isIndex = questionIndex === undefined || typeof questionIndex === 'number'
  return typeof interactionId === 'string' && isIndex
}
