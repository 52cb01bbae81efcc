import { connect, type AskableDesk, type Askback } from '@askback/client'
import type { Actor } from '@askback/protocol'

/**
 * Where people answer: a desk, anything that has one as its `desk`, or what `connect` made with a person's token.
 */
export type AnsweringTarget = AskableDesk | { desk: AskableDesk } | Pick<Askback, 'requests' | 'respond'>

/** The requests of the target, and answers in the name of `actor` where the target itself does not say whose they are. */
export function answering(target: AnsweringTarget, actor: Actor): Pick<Askback, 'requests' | 'respond'> {
  if ('requests' in target) return target
  return connect({ desk: 'desk' in target ? target.desk : target, actor })
}
