import { isBuiltInKind, type BuiltInKind, type KindDescription } from '@askback/protocol'
import { steadyClock, type Clock } from '../clock.js'
import { checkedCaller, type Caller, type PersonCaller } from '../decide/caller.js'
import { newId as randomId } from '../ids.js'
import { approvalKind } from '../kinds/approval.js'
import { formKind } from '../kinds/form.js'
import { descriptionOf } from '../kinds/describe-kind.js'
import { kindsByName, type InteractionKind } from '../kinds/kinds.js'
import { planReviewKind } from '../kinds/plan-review.js'
import { questionKind } from '../kinds/question.js'
import { BoundDesk, type DeskParts } from './bound-desk.js'
import { adoptionOn } from './commands/create-session.js'
import { checkOptions, DEFAULT_TIMEOUT_MS, reportError, safely, type DeskOptions } from './desk-options.js'
import { Engine } from './engine.js'
import { Maintenance } from './maintenance.js'
import { recheck, resolveWaiters } from './waiting.js'

const MAX_REQUEST_BYTES = 1024 * 1024
const MAX_SESSIONS = 10_000
const MAX_STALE_MS = 10_000
/** Enough for a hundred thousand sessions with a pending and a settled interaction each: a few hundred MB. */
const IN_MEMORY = 2_500_000
const BUILT_IN: Record<BuiltInKind, InteractionKind> = {
  question: questionKind,
  approval: approvalKind,
  plan_review: planReviewKind,
  form: formKind,
}
/** The caller of an embedder's own code: a person, whom the log does not name. */
const NOBODY: Caller = Object.freeze({})

/**
 * The coordinator: opens interactions, settles each once, and resolves its waiters.
 *
 * @example
 *   const desk = createDesk({ store: memoryStore() })
 *   const asked = desk.session('deploy').ask({ questions })
 *   await desk.as({ by: { id: 'ada' }, via: 'web' }).respond({ interactionId, answer })
 */
export function createDesk(options: DeskOptions): Desk {
  return new Desk(options)
}

/** A desk. Its own commands act for code of this process, without the name of a person; `as` binds a caller. */
export class Desk extends BoundDesk {
  /** Resolves when the deadlines are scheduled and unfinished work of the last process is complete. Failures are retried. */
  readonly ready: Promise<void>
  /** The clock by which deadlines are set and met. */
  readonly clock: Clock
  /** Every kind that can be asked here: the built-in ones first, then those of the embedder. */
  readonly kinds: readonly InteractionKind[]
  readonly #parts: DeskParts
  readonly #stopListening: () => void

  constructor(options: DeskOptions) {
    const parts = connectParts(options)
    super(parts, NOBODY)
    const { engine, maintenance } = parts
    const { store, clock } = engine.options
    this.#parts = parts
    this.clock = clock
    this.kinds = Object.freeze([...parts.kinds.values()])
    // No other process writes to a store that is not shared.
    this.#stopListening = store.shared ? store.onAppend((ring) => engine.onDoorbell(ring)) : () => undefined
    this.ready = maintenance.start()
  }

  /**
   * The same desk for one caller: its commands are made in the name of that person, on that surface, or under that agent's lease. Throws
   * `invalid_request` if the caller is not valid.
   *
   * @example
   *   const ada = desk.as({ by: { id: 'ada', name: 'Ada' }, via: 'web' })
   *   await ada.message({ sessionId: 'deploy', text: 'Not before noon.' })
   */
  as(caller: PersonCaller): BoundDesk<PersonCaller>
  as(caller: Caller): BoundDesk
  as(caller: Caller): BoundDesk {
    return new BoundDesk(this.#parts, checkedCaller(caller))
  }

  /** Describes the kinds of the embedder: their titles and JSON Schemas. */
  customKinds(): KindDescription[] {
    return this.kinds.filter(({ kind }) => !isBuiltInKind(kind)).map(descriptionOf)
  }

  /** Ends timers and waits; pending interactions stay pending. The caller closes the store. */
  close(): void {
    this.#stopListening()
    this.#parts.maintenance.stop()
    this.#parts.engine.close()
  }
}

function connectParts(options: DeskOptions): DeskParts {
  checkOptions(options)
  const { store, newId = randomId, limits = {}, timeouts = {}, onError = reportError } = options
  const clock = options.clock ?? store.clock ?? steadyClock()
  const kinds = kindsByName([...Object.values(BUILT_IN), ...(options.kinds ?? [])])
  const maxSessions = limits.sessions ?? MAX_SESSIONS
  const engine: Engine = new Engine(
    {
      store,
      clock,
      newId,
      kind: (name) => kinds.get(name),
      edits: { readLink: options.readLink, protectedPaths: options.protectedPaths ?? [] },
      maxPending: limits.pendingPerSession ?? 5000,
      memoryBudget: limits.inMemory ?? IN_MEMORY,
      maxStaleMs: options.maxStaleMs ?? MAX_STALE_MS,
      onError: safely(onError),
    },
    {
      resolveWaiters: (settlements) => resolveWaiters(engine, settlements),
      recheck: (sessionId) => recheck(engine, sessionId),
    },
  )
  const adoption = adoptionOn(engine, maxSessions)
  const maintenance = new Maintenance(engine, {
    retentionMs: options.retentionMs ?? null,
    repairMs: options.repairMs ?? 5000,
    onStart: () => adoption.start(),
  })
  const requestLimits = {
    maxBytes: limits.requestBytes ?? MAX_REQUEST_BYTES,
    defaultTimeoutMs: timeouts.defaultMs === undefined ? DEFAULT_TIMEOUT_MS : timeouts.defaultMs,
  }
  return { engine, adoption, maintenance, requestLimits, maxSessions, kinds }
}
