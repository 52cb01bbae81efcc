import {
  AskbackError,
  canonicalJson,
  copyJson,
  MAX_JSON_DEPTH,
  sha256Hex,
  viewInteraction,
  type Interaction,
  type Routed,
  type SessionEvent,
} from '@askback/protocol'
import type { Clock } from '../clock.js'
import type { Decision, Refusal } from '../decide/command.js'
import { alreadySettled } from '../decide/settle.js'
import { optional } from '../optional.js'
import type { KvWrite, Store } from '../store/store.js'

/** Makes a command that is sent twice count once: the second time it is answered from a record in the store. */
export interface IdempotencyKey {
  /** Of the record, with its scope. */
  key: string
  /** Of everything that was asked for under it. */
  fingerprint: string
}

/** What a command did. */
export interface CommandResult {
  events: SessionEvent[]
  /** What it was about, as it stands after it. */
  interaction?: Interaction
  routed?: Routed['routed']
  /** The rendezvous wants to wait for a tool call. */
  wait?: true
  /** Its key was seen before: nothing was done now. */
  repeated?: true
}

interface Recorded {
  sessionId: string
  fingerprint: string
  first: number
  last: number
  interactionId?: string
  refusal?: Refusal
  routed?: Routed['routed']
}

export function keyOf(key: string, body: unknown): IdempotencyKey {
  // What is in it was measured already, at a depth of its own.
  return { key, fingerprint: sha256Hex(canonicalJson(copyJson(body, 'body', MAX_JSON_DEPTH + 2))) }
}

/** Lives as long as the session. */
export function sessionKey(
  sessionId: string,
  operation: string,
  key: string | undefined,
  body: unknown,
): IdempotencyKey | undefined {
  return key === undefined ? undefined : keyOf(`session/${sessionId}/key/${operation}/${key}`, body)
}

/** Written with the events that the command leads to. */
export function recordOf(
  { key, fingerprint }: IdempotencyKey,
  decision: Decision,
  events: SessionEvent[],
): KvWrite {
  const { interactionId, refusal, routed } = decision
  const recorded: Recorded = {
    fingerprint,
    sessionId: events[0]?.sessionId ?? '',
    first: events[0]?.seq ?? 0,
    last: events.at(-1)?.seq ?? 0,
    ...optional({ interactionId, refusal, routed }),
  }
  return { key, value: { ...recorded }, ifAbsent: true }
}

/** What the command under this key did when it was first sent, or `null` if it never was. */
export async function recall(
  { store, clock }: { store: Store; clock: Clock },
  { key, fingerprint }: IdempotencyKey,
): Promise<CommandResult | null> {
  const entry = await store.kv.get(key)
  if (!entry) return null
  const recorded = entry.value as unknown as Recorded
  if (recorded.fingerprint !== fingerprint) {
    throw new AskbackError(
      'idempotency_mismatch',
      'This idempotency key was used for another request. A new request needs a new key.',
      { details: { sessionId: recorded.sessionId } },
    )
  }
  const { sessionId, interactionId, refusal, routed, first, last } = recorded
  const interaction =
    interactionId === undefined ? undefined : ((await store.interaction(interactionId)) ?? undefined)
  if (interactionId !== undefined && !interaction) {
    throw new AskbackError('not_found', `The session ${sessionId} was deleted.`)
  }
  if (refusal && interaction) throw refusalOf(refusal, viewInteraction(interaction, clock.now()))
  const limit = last - first + 1
  const events = first === 0 ? [] : await store.read({ sessionId, after: first - 1, limit })
  return { events, repeated: true, ...optional({ interaction, routed }) }
}

export function refusalOf(refusal: Refusal, interaction: Interaction): AskbackError {
  if (refusal.code === 'already_settled') return alreadySettled(interaction)
  const { code, errors } = refusal
  const [field, message] = Object.entries(errors)[0] ?? []
  const what = field === undefined ? 'Some fields do not fit.' : `${field}: ${message}`
  return new AskbackError(code, `The form needs another look. ${what}`, { details: { errors, interaction } })
}
