import {
  AskbackError,
  isRecord,
  type Interaction,
  type Session,
  type SessionEvent,
  type SessionStateJson,
} from '@askback/protocol'
import type { Clock } from '../clock.js'
import type { ReadLink } from '../decide/resolve-path.js'
import type { InteractionKind } from '../kinds/kinds.js'
import type { Store } from '../store/store.js'

/** The options of `createDesk`. */
export interface DeskOptions {
  store: Store
  /** Kinds in addition to `question`, `approval`, `plan_review` and `form`. */
  kinds?: InteractionKind[]
  /** @default the store's clock if it has one, else `steadyClock()` */
  clock?: Clock
  newId?: () => string
  timeouts?: {
    /**
     * Timeout of requests that do not set one, in milliseconds; `null` waits for ever.
     *
     * @default 600000
     */
    defaultMs?: number | null
  }
  limits?: {
    /** @default 5000 */
    pendingPerSession?: number
    /**
     * Size of one request as JSON, in bytes.
     *
     * @default 1048576
     */
    requestBytes?: number
    /** @default 10000 */
    sessions?: number
    /**
     * Memory for idle sessions, in units of about `WEIGHT_BYTES` (200 bytes). A session counts one unit, each of its interactions
     * four, each turn and tool call in its window ten, and large events count more. Sessions above the limit are evicted and read again on use.
     *
     * @default 2500000
     */
    inMemory?: number
  }
  /** Deletes sessions whose last event is older than this, in milliseconds. Without it sessions are kept. */
  retentionMs?: number
  /** Reads the target of a symbolic link. Without it no edit counts as inside the session's folder. */
  readLink?: ReadLink
  /**
   * Names or paths whose edits are always asked about, in addition to `PROTECTED_PATHS`. A session's folder may be inside one.
   *
   * @default []
   */
  protectedPaths?: readonly string[]
  /**
   * On a shared store: interval of the poll for changes whose doorbell was lost, in milliseconds.
   *
   * @default 5000
   */
  repairMs?: number
  /**
   * On a shared store: how old a read may be, in milliseconds. A read that would be older asks the store first, and fails with
   * `unavailable` if the store cannot be reached.
   *
   * @default 10000
   */
  maxStaleMs?: number
  onError?: (error: unknown) => void
}

/** The options of a read. */
export interface ReadOptions {
  /**
   * Whether the result must include everything that was in the store at the time of the call, also from other processes.
   *
   * @default false
   */
  fresh?: boolean
}

/** The result of a command that controls how a session runs. */
export interface ControlResult {
  /** A repeated request: this call changed nothing. */
  repeated: boolean
  /** For an interrupt or a clear: the turn that was open when it was first sent. */
  turnId?: string
}

/** The options of `wait`. */
export interface WaitOptions {
  /** The session of the interaction. Without it the store is asked. */
  sessionId?: string
  /**
   * Claims the settlement for the caller (L10). Only a caller that acts on the settlement may claim it.
   *
   * @default true
   */
  claim?: boolean
  /** Ends the wait: it rejects, and the interaction stays as it is. */
  signal?: AbortSignal | undefined
}

/** An interaction, and whether this call opened it. */
export interface Opened {
  interaction: Interaction
  /** False for a repeated request, and if it attached to an interaction that existed. */
  created: boolean
  events: SessionEvent[]
}

/** A session as it is now, and where its events go on. */
export interface SessionSnapshot {
  session: Session
  state: SessionStateJson
  seq: number
  now: number
  logId: string
}

export const DEFAULT_TIMEOUT_MS = 10 * 60_000
/** Ten years. */
const MAX_TIMEOUT_MS = 10 * 365 * 24 * 3_600_000

const LIMITS = new Set(['pendingPerSession', 'requestBytes', 'sessions', 'inMemory'])

type OptionCheck = (value: unknown) => boolean

const isFunction: OptionCheck = (value) => typeof value === 'function'
const isCount: OptionCheck = (value) => typeof value === 'number' && value >= 0
const isDuration: OptionCheck = (value) => typeof value === 'number' && value > 0 && value < Infinity

/** Reports a wrong option when the desk is created, not when the first interaction is opened. */
export function checkOptions(options: DeskOptions): void {
  const given = fieldsOf(options, 'options')
  if (!can(['append', 'read', 'onAppend'])(given.store))
    refuse('store', 'is no store; memoryStore() makes one')
  const may = (name: string, check: OptionCheck, what: string, values = given) => {
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
function can(methods: string[]): OptionCheck {
  return (value) => isRecord(value) && methods.every((name) => isFunction(value[name]))
}

function fieldsOf(value: unknown, name: string): Record<string, unknown> {
  return isRecord(value) ? value : refuse(name, 'must be an object')
}

function refuse(name: string, why: string): never {
  throw new AskbackError('invalid_request', `The desk cannot be made: ${name} ${why}.`)
}

export function checkFollower(follower: unknown): void {
  if (can(['advanced', 'gone'])(follower)) return
  throw new AskbackError('invalid_request', 'The follower must have the functions advanced() and gone().')
}

export function checkListener(listener: unknown, gone: unknown): void {
  if (isFunction(listener) && (gone === undefined || isFunction(gone))) return
  throw new AskbackError('invalid_request', 'The listener must be a function.')
}

/** Wraps `onError` so that an error inside of it does not hide the original one. */
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

export function sessionNotFound({ sessionId }: { sessionId: string }): AskbackError {
  return new AskbackError('not_found', `There is no session ${sessionId}.`)
}

export function fencedError(): AskbackError {
  return new AskbackError('forbidden', 'Another gateway runs the agent of this session now.')
}

export function closedError(): AskbackError {
  return new AskbackError('unavailable', 'This desk is closed. What is pending stays pending.')
}

/** A caller without types may pass anything, and stores do not check ids. */
export function checkId(id: unknown, what: 'session' | 'interaction' | 'rule'): asserts id is string {
  if (typeof id !== 'string')
    throw new AskbackError('invalid_request', `The id of the ${what} must be a text.`)
}
