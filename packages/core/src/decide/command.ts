import type {
  Actor,
  EventOf,
  Interaction,
  Json,
  NewEvent,
  OnTimeout,
  PermissionMode,
  Reported,
  Via,
  Routed,
  RequestSource,
} from '@askback/protocol'
import type { InteractionKind } from '../kinds/kinds.js'
import type { KvWrite } from '../store/store.js'
import type { AdoptCommand, PlaceCommand } from './adopt-command.js'
import type { EditTarget } from './permissions.js'

export type { Reported }

/** A request that was parsed, copied and hashed: nothing about it depends on the session any more. */
export interface PreparedRequest {
  kind: InteractionKind
  toolName: string
  request: Json
  digest: string
  timeoutMs: number | null
  onTimeout: OnTimeout
}

/** How an interaction finds its tool call. */
export type Anchoring =
  | { by: 'id'; toolCallId: string }
  | { by: 'rendezvous'; waited: boolean }
  | { by: 'itself' }

export interface OpenCommand {
  type: 'open'
  prepared: PreparedRequest
  anchoring: Anchoring
  attach: boolean
  turnId?: string | undefined
  responseId?: string | undefined
  agentId?: string | undefined
  /** The credential that asks. */
  openedBy?: string | undefined
  source?: RequestSource | undefined
  /** Must be the agent's own session, if that is known. */
  agentThread?: string | undefined
  /** What its own adapter says the tool would write; without it the name and the input tell. */
  edit?: EditTarget | undefined
  /** Who gets the settlement if there is one at once; claims it. */
  claimAs?: string | undefined
}

export interface RespondCommand {
  type: 'respond'
  interactionId: string
  answer: Json
  digest?: string | undefined
  by?: Actor | undefined
  via: Via
}

export interface MessageCommand {
  type: 'message'
  text: string
  by: Actor
  via: Via
  route: 'auto' | 'agent' | 'interaction'
  interactionId?: string
  questionIndex?: number
}

export type Command =
  | ({ type: 'start'; permissionMode: PermissionMode; unlessThere?: boolean } & Pick<
      EventOf<'session_started'>,
      'agent' | 'title' | 'cwd' | 'realCwd' | 'model' | 'source' | 'by' | 'via'
    >)
  | OpenCommand
  | RespondCommand
  | { type: 'progress'; interactionId: string; answers: Json }
  | { type: 'cancel'; interactionId: string; by?: Actor; via?: Via; message?: string }
  | { type: 'expire'; interactionId: string }
  | { type: 'deliver'; interactionId: string; to: string }
  | { type: 'report'; events: Reported[] }
  | MessageCommand
  | { type: 'interrupt'; by?: Actor; via?: Via }
  | { type: 'clear'; by?: Actor; via?: Via }
  | { type: 'set_mode'; mode: PermissionMode; by?: Actor; via?: Via }
  | { type: 'end'; by?: Actor; via?: Via }
  | AdoptCommand
  | PlaceCommand

export interface Context {
  now: number
  newId: () => string
  kind: (name: string) => InteractionKind | undefined
  maxPending: number
  /** Who waits in this process for an interaction and takes its settlement with the append that makes it. */
  claimant: (interactionId: string) => string | null
  /** The interaction that a command is about, where it has left the state's window. */
  found?: Interaction | undefined
  /** Whether a stored rule allows exactly this approval. */
  rule?: boolean | undefined
  edit?: EditTarget | undefined
  /** Tool calls that a report is about and that have left the window. */
  knownCalls?: ReadonlyMap<string, { ended: boolean }> | undefined
  /** Of tool calls that nobody has reported: what was asked about them last, where that has left the window. */
  placeholders?: ReadonlyMap<string, Interaction> | undefined
  /** How many items of its history an adopted session has; `null` if all. */
  imported?: number | null | undefined
}

export interface Decision {
  events: NewEvent[]
  /** Of each event, where they are not of now. */
  times?: readonly number[]
  kv?: KvWrite[] | undefined
  /** The interaction that the command was about, or made. */
  interactionId?: string
  /** The command was refused, and that has left a trace: told once the events are durable. */
  refusal?: Refusal
  /** The rendezvous wants to wait for a tool call. */
  wait?: true
  routed?: Routed['routed']
}

export type Refusal = { code: 'already_settled' } | { code: 'invalid_answer'; errors: Record<string, string> }
