import { AskbackError, callerInput, type Actor, type StandardSchema, type Via } from '@askback/protocol'
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
   * An agent may not declare the answer to its own approval or plan review (L5), nor do what is for people: answer, send messages,
   * change the permission mode, delete sessions and rules.
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

/** `id` is not among them: a new session has one. */
const FIELDS = ['by', 'via', 'role', 'fence'] as const satisfies readonly (keyof Caller)[]

/** The error for an input that names a caller: without types it would look as if the call were made in that caller's name. */
export function namedCaller(input: unknown): AskbackError | null {
  if (typeof input !== 'object' || input === null) return null
  // Each call of the desk comes by here. Plain loads, because a loop over the names or `in` takes several times as long.
  const { by, via, role, fence }: Partial<Record<(typeof FIELDS)[number], unknown>> = input
  if (by === undefined && via === undefined && role === undefined && fence === undefined) return null
  const named = FIELDS.find((field) => Reflect.get(input, field) !== undefined)
  return new AskbackError(
    'invalid_request',
    `The input of a call has no \`${named}\`: bind the caller once, with desk.as({ by, via }).`,
  )
}

/** Parses the input of a command. Every input goes through here, so that none can name another caller than the one that is bound. */
export function parseCallInput<Output>(schema: StandardSchema<Output>, input: unknown, what: string): Output {
  const refusal = namedCaller(input)
  if (refusal) throw refusal
  return parseInput(schema, input, what)
}

/** Throws `forbidden` for what only people may do. */
export function checkIsPerson({ role }: Caller, what: string): void {
  if (role === 'agent') throw new AskbackError('forbidden', `An agent may not ${what}: only a person may.`)
}

/** The fields for a command, without those that are undefined. */
export function actedBy({ by, via }: Caller) {
  return optional({ by, via })
}

/** The receiver that claims of this caller name. */
export function receiverOf({ id = 'desk' }: Caller): string {
  return id
}
