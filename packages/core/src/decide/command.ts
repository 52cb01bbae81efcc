import type {
  Actor,
  EventOf,
  Interaction,
  Json,
  MessageRoute,
  NewEvent,
  OnTimeout,
  OpenInput,
  PermissionMode,
  ReportedEvent,
  SessionTags,
  Via,
} from '@askback/protocol'
import type { InteractionKind } from '../kinds/kinds.js'
import type { KvWrite } from '../store/store.js'
import type { AddCopyCommand, AdoptCommand } from './adopt.js'
import type { ActedBy } from './caller.js'
import type { EditTarget } from './permissions.js'

export type { ReportedEvent }

/** A request after validation: parsed, copied and hashed. Nothing in it depends on the state of the session. */
export interface PreparedRequest {
  kind: InteractionKind
  toolName: string
  request: Json
  digest: string
  timeoutMs: number | null
  onTimeout: OnTimeout
}

/**
 * How an interaction gets its tool call: the caller names the call (`id`), the call is searched among those recorded
 * (`rendezvous`), or the interaction gets a new call of its own (`itself`).
 */
export type Anchoring =
  | { by: 'id'; toolCallId: string }
  | { by: 'rendezvous'; waited: boolean }
  | { by: 'itself' }

export interface OpenCommand extends Pick<
  OpenInput,
  'turnId' | 'responseId' | 'agentId' | 'source' | 'notes' | 'agentThread' | 'edit'
> {
  type: 'open'
  prepared: PreparedRequest
  anchoring: Anchoring
  attach: boolean
  /** Id of the caller that opens it. */
  openedBy?: string | undefined
  /** Receiver named in the claim if the permission mode or a rule approves at once. */
  claimAs?: string | undefined
}

export interface RespondCommand extends ActedBy {
  type: 'respond'
  interactionId: string
  answer: Json
  digest?: string | undefined
  via: Via
}

export interface MessageCommand extends ActedBy {
  type: 'message'
  text: string
  by: Actor
  via: Via
  route: 'auto' | 'agent' | 'interaction'
  interactionId?: string
  questionIndex?: number
}

export type Command =
  | ({ type: 'start'; permissionMode: PermissionMode; ifNotExists?: boolean } & Pick<
      EventOf<'session_started'>,
      'agent' | 'title' | 'cwd' | 'realCwd' | 'model' | 'source' | 'tags' | 'by' | 'via'
    >)
  | OpenCommand
  | RespondCommand
  | { type: 'progress'; interactionId: string; answers: Json }
  | ({ type: 'cancel'; interactionId: string; message?: string } & ActedBy)
  | { type: 'expire'; interactionId: string }
  | { type: 'deliver'; interactionId: string; to: string }
  | { type: 'report'; events: ReportedEvent[] }
  | MessageCommand
  | ({ type: 'interrupt' } & ActedBy)
  | ({ type: 'clear' } & ActedBy)
  | ({ type: 'set_mode'; mode: PermissionMode } & ActedBy)
  | ({ type: 'set_tags'; tags: SessionTags } & ActedBy)
  | ({ type: 'end' } & ActedBy)
  | AdoptCommand
  | AddCopyCommand

export type CommandOf<Type extends Command['type']> = Extract<Command, { type: Type }>

export interface Context {
  now: number
  newId: () => string
  kind: (name: string) => InteractionKind | undefined
  maxPending: number
  /**
   * The receiver that waits in this process for the interaction and would claim its settlement in the same append; `null`
   * if there is none. Must not change anything: the caller marks the claims of `Decision.settled` afterwards.
   */
  claimant: (interactionId: string) => string | null
  /** The interaction of the command, read from the store because it is outside the state's window. */
  found?: Interaction | undefined
  /** Whether a stored rule allows exactly this approval. */
  rule?: boolean | undefined
  edit?: EditTarget | undefined
  /** Tool calls of a report that are outside the window, by id. */
  knownCalls?: ReadonlyMap<string, { ended: boolean }> | undefined
  /** For tool calls that were never reported: the last interaction about each, read from the store, by tool call id. */
  placeholders?: ReadonlyMap<string, Interaction> | undefined
  /** How many items of its history an adopted session holds so far; `null` when the history is complete. */
  imported?: number | null | undefined
}

/** An interaction that a decision settles. */
export interface DecidedSettlement {
  /** As it was before. */
  interaction: Interaction
  /** One of `Decision.events`; the append gives it its place and time in the log. */
  response: EventOf<'interaction_response'>
  /** Receiver whose claim is part of the same append; `null` if nobody claims it now. */
  claimant: string | null
}

/** What one rule contributes to a decision. `mergeParts` joins several into one append. */
export interface PartialDecision {
  events: NewEvent[]
  kv?: KvWrite[] | undefined
  /** Every interaction that these events settle, in their order. */
  settled?: DecidedSettlement[] | undefined
}

export interface Decision extends PartialDecision {
  /** Time of each event in milliseconds, if they happened before now. */
  times?: readonly number[]
  /** The interaction that the command was about, or opened. */
  interactionId?: string
  /** The command is refused, and the refusal itself changed the log. It is thrown once the events are durable. */
  refusal?: Refusal
  /** No matching tool call is recorded yet: append nothing and run the command again when one is. */
  wait?: true
  routed?: MessageRoute['routed']
  /** The turn that was open when a person stopped it; a retry of the command is about that turn and no later one. */
  turnId?: string
}

export type Refusal = { code: 'already_settled' } | { code: 'invalid_answer'; errors: Record<string, string> }

export function mergeParts(...parts: PartialDecision[]): PartialDecision {
  const events: NewEvent[] = []
  const kv: KvWrite[] = []
  const settled: DecidedSettlement[] = []
  for (const part of parts) {
    for (const event of part.events) events.push(event)
    for (const write of part.kv ?? []) kv.push(write)
    for (const settlement of part.settled ?? []) settled.push(settlement)
  }
  const merged: PartialDecision = { events }
  if (kv.length > 0) merged.kv = kv
  if (settled.length > 0) merged.settled = settled
  return merged
}
