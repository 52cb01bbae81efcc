import { callerInput, type Actor, type Via } from '@askback/protocol'
import { parseInput } from '../kinds/kinds.js'
import { optional } from '../optional.js'
import type { Fence } from '../store/store.js'

/** The role of the caller's credential. Code in this process counts as a person. */
export type Role = 'agent' | 'person'

/**
 * Who acts. `desk.as(caller)` binds it once; the calls themselves do not name it. Everything in it must come from
 * authentication, never from the body of a request.
 *
 * @example
 *   const ada = desk.as({ by: { id: 'ada', name: 'Ada' }, via: 'web' })
 *   await ada.respond({ interactionId, answer })
 */
export interface Caller {
  /** The person who acts. Without it the log names nobody. */
  readonly by?: Actor | undefined
  /**
   * The surface on which the person acts.
   *
   * @default 'direct' for answers, messages, changes of the permission mode and deletions; otherwise none is recorded
   */
  readonly via?: Via | undefined
  /**
   * Names the caller itself, for example its credential. It is the `openedBy` of what it opens, and the receiver in its claims (L10).
   *
   * @default no `openedBy`, and `desk` as the receiver
   */
  readonly id?: string | undefined
  /**
   * An agent may not declare the answer to its own approval or plan review (L5).
   *
   * @default 'person'
   */
  readonly role?: Role | undefined
  /**
   * The lease under which this process runs an agent, if the caller is that agent. What it opens, reports and claims is refused once
   * another process has the lease.
   */
  readonly fence?: Fence | undefined
}

/** A caller that is a person with a name: only people send messages and adopt sessions. */
export interface PersonCaller extends Caller {
  readonly by: Actor
}

/** The part of a caller that the log records. */
export type ActedBy = Pick<Caller, 'by' | 'via'>

/** Returns a copy, which later changes of `caller` do not reach: its `by` becomes a part of events. */
export function checkedCaller(caller: Caller): Caller {
  const { by, ...rest } = parseInput(callerInput, caller, 'the caller')
  return Object.freeze(optional({ ...rest, by: by && Object.freeze(optional(by)) }))
}

/** The fields for a command, without those that are undefined. */
export function actedBy({ by, via }: Caller) {
  return optional({ by, via })
}

/** The receiver that claims of this caller name. */
export function receiverOf({ id = 'desk' }: Caller): string {
  return id
}
