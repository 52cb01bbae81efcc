import {
  AskbackError,
  type Actor,
  type Interaction,
  type OpenBody,
  type Session,
  type SessionEvent,
  type SessionStateJson,
  type Via,
  type RequestSource,
} from '@askback/protocol'
import type { Clock } from '../clock.js'
import type { OpenCommand } from '../decide/command.js'
import type { ReadLink } from '../decide/resolve-path.js'
import type { InteractionKind } from '../kinds/kinds.js'
import type { Fence, Store } from '../store/store.js'

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

/** The role of the caller's credential. Code in this process counts as a person. */
export type Role = 'agent' | 'person'

export const DEFAULT_TIMEOUT_MS = 10 * 60_000
/** Ten years. */
const MAX_TIMEOUT_MS = 10 * 365 * 24 * 3_600_000

const LIMITS = new Set(['pendingPerSession', 'requestBytes', 'sessions', 'inMemory'])

type Check = (value: unknown) => boolean

const isFunction: Check = (value) => typeof value === 'function'
const isCount: Check = (value) => typeof value === 'number' && value >= 0
const isDuration: Check = (value) => typeof value === 'number' && value > 0 && value < Infinity

/** Reports a wrong option when the desk is created, not when the first interaction is opened. */
export function checkOptions(options: DeskOptions): void {
  const given = fieldsOf(options, 'options')
  if (!can(['append', 'read', 'onAppend'])(given.store))
    refuse('store', 'is no store; memoryStore() makes one')
  const may = (name: string, check: Check, what: string, values = given) => {
    const value = values[name]
    if (value !== undefined && !check(value)) refuse(name, `must be ${what}`)
  }
  may('kinds', Array.isArray, 'a list of definitions')
  may('clock', can(['now', 'alarm']), 'a clock, with now() and alarm()')
  for (const name of ['newId', 'readLink', 'onError']) may(name, isFunction, 'a function')
  for (const name of ['retentionMs', 'repairMs', 'maxStaleMs'])
    may(name, isDuration, 'a number of milliseconds above 0')
  const limits = fieldsOf(given.limits ?? {}, 'limits')
  for (const name of Object.keys(limits)) {
    if (!LIMITS.has(name)) refuse(name, `is no limit; there are ${[...LIMITS].join(', ')}`)
    may(name, isCount, 'a number, 0 or more', limits)
  }
  const { defaultMs = null } = fieldsOf(given.timeouts ?? {}, 'timeouts')
  checkTimeout(defaultMs, 'timeouts.defaultMs')
}

/** Whether it has methods of these names. */
function can(methods: string[]): Check {
  return (value) =>
    typeof value === 'object' &&
    value !== null &&
    methods.every((name) => isFunction((value as Record<string, unknown>)[name]))
}

function fieldsOf(value: unknown, name: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return refuse(name, 'must be an object')
  return value as Record<string, unknown>
}

function refuse(name: string, why: string): never {
  throw new AskbackError('invalid_request', `The desk cannot be made: ${name} ${why}.`)
}

/** An `onError` that throws must not hide the error that it was called with. */
export function safely(onError: (error: unknown) => void): (error: unknown) => void {
  return (error) => {
    try {
      onError(error)
    } catch (another) {
      reportError(error)
      reportError(another)
    }
  }
}

export function reportError(error: unknown): void {
  // oxlint-disable-next-line no-console -- the last resort of a desk that was given no onError
  console.error('askback:', error)
}

export function checkTimeout(value: unknown, name: string): void {
  if (value === null) return
  if (typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= MAX_TIMEOUT_MS) return
  throw new AskbackError(
    'invalid_request',
    `${name} must be a whole number of milliseconds above 0 and at most ten years, or null to wait forever.`,
  )
}
