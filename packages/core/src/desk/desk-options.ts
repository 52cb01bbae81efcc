import type {
  Actor,
  Interaction,
  OpenBody,
  Session,
  SessionEvent,
  SessionStateJson,
  Via,
  RequestSource,
} from '@askback/protocol'
import type { Clock } from '../clock.js'
import type { OpenCommand } from '../decide/command.js'
import type { ReadLink } from '../decide/resolve-path.js'
import type { InteractionKind } from '../kinds/kinds.js'
import type { Fence, Store } from '../store/store.js'
import type { Role } from './prepare-request.js'

export interface DeskOptions {
  store: Store
  /** Kinds beyond question, approval, plan_review and form. */
  kinds?: InteractionKind[]
  /** @default the store's clock if it has one, else `steadyClock()` */
  clock?: Clock
  newId?: () => string
  timeouts?: {
    /**
     * How long a request waits that does not say it itself, in milliseconds; `null` waits for ever.
     *
     * @default 600000
     */
    defaultMs?: number | null
  }
  limits?: {
    /** @default 5000 */
    pendingPerSession?: number
    /**
     * Of the JSON of one request.
     *
     * @default 1048576
     */
    requestBytes?: number
    /** @default 10000 */
    sessions?: number
    /**
     * What stays in memory of sessions in which nothing happens, in units of about `WEIGHT_BYTES` (200): each counts one, each
     * of its interactions four, each turn and tool call of its window ten, and more where its events are large.
     *
     * @default 2500000
     */
    inMemory?: number
  }
  /** Deletes sessions that were last written to longer ago. */
  retentionMs?: number
  /** Where a link leads, for a host with a file system. Without it no edit counts as inside the session's folder. */
  readLink?: ReadLink
  /**
   * Names or paths in which edits are always asked for, beside `PROTECTED_PATHS`. A session's folder may itself lie in one.
   *
   * @default []
   */
  protectedPaths?: readonly string[]
  /**
   * On a store that other processes write to: how often it is looked at for what no doorbell told of, in milliseconds.
   *
   * @default 5000
   */
  repairMs?: number
  /**
   * On a store that other processes write to: how old what is read may be, in milliseconds. A read that would be older looks
   * at the store first, and fails if that cannot be reached.
   *
   * @default 10000
   */
  maxStaleMs?: number
  onError?: (error: unknown) => void
}

/** Where a command comes from. `by` and `via` come from authentication, never from the body. */
export interface Origin {
  by?: Actor | undefined
  via?: Via | undefined
  /** With its scope; the session is added. */
  idempotencyKey?: string | undefined
}

export interface OpenInput extends OpenBody {
  sessionId: string
  idempotencyKey?: string | undefined
  /** The tool call that the asker's environment names; one in the request itself goes before it. */
  anchorTo?: string | undefined
  /** The agent's own session that the asker's environment names: it must be this session's, if that is known. */
  agentThread?: string | undefined
  /** Without either, looks for the tool call that it belongs to. */
  rendezvous?: boolean | undefined
  turnId?: string | undefined
  responseId?: string | undefined
  agentId?: string | undefined
  edit?: OpenCommand['edit'] | undefined
  /** The credential that asks. */
  openedBy?: string | undefined
  source?: RequestSource | undefined
  claimAs?: string | undefined
  /** Of the agent that asks, if this process runs it. */
  fence?: Fence | undefined
  /** An agent's credential may not declare the answer to an approval or a plan review (L5). */
  role?: Role | undefined
}

export interface ReadOptions {
  /**
   * Whether it holds everything that was in the store when it was asked for, also what other processes wrote.
   *
   * @default false
   */
  fresh?: boolean
}

export interface Opened {
  interaction: Interaction
  /** Whether this call opened it: not if its key was seen, or if it attached. */
  created: boolean
  events: SessionEvent[]
}

export interface SessionSnapshot {
  session: Session
  state: SessionStateJson
  seq: number
  now: number
  logId: string
}
