import {
  AskbackError,
  canonicalJson,
  copyJson,
  MAX_JSON_DEPTH,
  sha256Hex,
  viewInteraction,
  type Interaction,
  type MessageRoute,
  type SessionEvent,
} from '@askback/protocol'
import type { Clock } from '../clock.js'
import type { Decision, Refusal } from '../decide/command.js'
import { alreadySettled } from '../decide/settle.js'
import { optional } from '../optional.js'
import type { KvWrite, Store } from '../store/store.js'

/**
 * Makes a command that is sent twice take effect once. The append of the first one also writes a record under this key; the second one is
 * answered from the record.
 */
export interface IdempotencyKey {
  /** Key of the record in the store, including its scope. */
  key: string
  /** Hash of the request: another request under the same key is refused. */
  fingerprint: string
}

/** The result of a command. */
export interface CommandResult {
  events: SessionEvent[]
  /** The interaction of the command, as it is after it. */
  interaction?: Interaction
  routed?: MessageRoute['routed']
  /** The turn that was open when the command stopped it. */
  turnId?: string
  /** No matching tool call is recorded yet: run the command again when one is. */
  wait?: true
  /** A repeated request: this call changed nothing. */
  repeated?: true
}

interface CommandRecord {
  sessionId: string
  fingerprint: string
  first: number
  last: number
  interactionId?: string
  refusal?: Refusal
  routed?: MessageRoute['routed']
  turnId?: string
}

export function keyOf(key: string, body: unknown): IdempotencyKey {
  // The parts of the body were checked for depth already; the body adds up to two levels.
  return { key, fingerprint: sha256Hex(canonicalJson(copyJson(body, 'body', MAX_JSON_DEPTH + 2))) }
}

/** A key whose record is deleted with the session. */
export function sessionKey(
  sessionId: string,
  operation: string,
  key: string | undefined,
  body: unknown,
): IdempotencyKey | undefined {
  return key === undefined ? undefined : keyOf(`session/${sessionId}/key/${operation}/${key}`, body)
}

/** The record of a command, for the append of its events. */
export function recordOf(
  { key, fingerprint }: IdempotencyKey,
  decision: Decision,
  events: SessionEvent[],
): KvWrite {
  const { interactionId, refusal, routed, turnId } = decision
  const recorded: CommandRecord = {
    fingerprint,
    sessionId: events[0]?.sessionId ?? '',
    first: events[0]?.seq ?? 0,
    last: events.at(-1)?.seq ?? 0,
    ...optional({ interactionId, refusal, routed, turnId }),
  }
  return { key, value: { ...recorded }, ifAbsent: true }
}

/** The result of the command that was first sent under this key; `null` if there was none. Throws what that command was refused with. */
export async function recall(
  { store, clock }: { store: Store; clock: Clock },
  { key, fingerprint }: IdempotencyKey,
): Promise<CommandResult | null> {
  const entry = await store.kv.get(key)
  if (!entry) return null
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only `recordOf` makes these entries
  const recorded = entry.value as unknown as CommandRecord
  if (recorded.fingerprint !== fingerprint) {
    throw new AskbackError(
      'idempotency_mismatch',
      'This idempotency key was used for another request. A new request needs a new key.',
      { details: { sessionId: recorded.sessionId } },
    )
  }
  const { sessionId, interactionId, refusal, routed, turnId, first, last } = recorded
  const interaction =
    interactionId === undefined ? undefined : ((await store.interaction(interactionId)) ?? undefined)
  if (interactionId !== undefined && !interaction) {
    throw new AskbackError('not_found', `The session ${sessionId} was deleted.`)
  }
  if (refusal && interaction) throw refusalOf(refusal, viewInteraction(interaction, clock.now()))
  const limit = last - first + 1
  const events = first === 0 ? [] : await store.read({ sessionId, after: first - 1, limit })
  return { events, repeated: true, ...optional({ interaction, routed, turnId }) }
}

export function refusalOf(refusal: Refusal, interaction: Interaction): AskbackError {
  if (refusal.code === 'already_settled') return alreadySettled(interaction)
  const { code, errors } = refusal
  const [field, message] = Object.entries(errors)[0] ?? []
  const what = field === undefined ? 'Some fields do not fit.' : `${field}: ${message}`
  return new AskbackError(code, `The form needs another look. ${what}`, { details: { errors, interaction } })
}
