import type { Interaction } from './interaction.js'

/**
 * Whether an approval had been handed over before this read (L10): what it allows may have run, so it must not be granted
 * again. The approval of a plan can be handed over again, like any answer: it is no call that would run twice.
 */
export function isInDoubt({
  settlement,
  kind,
  delivered,
}: Pick<Interaction, 'settlement' | 'kind' | 'delivered'>): boolean {
  return settlement === 'approved' && kind !== 'plan_review' && delivered === true
}
