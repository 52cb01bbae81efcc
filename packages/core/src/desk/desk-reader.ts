import {
  AskbackError,
  eventsInput,
  pageInput,
  sessionOf,
  stateToJson,
  viewInteraction,
  type AuditRow,
  type Interaction,
  type KindPromptResult,
  type SessionEvent,
  type SessionState,
} from '@askback/protocol'
import type { EditScope } from '../decide/edit-target.js'
import { RULES_PREFIX, type ApprovalRule } from '../decide/rules.js'
import { promptFor } from '../kinds/describe-kind.js'
import { parseInput as parse } from '../kinds/kinds.js'
import { optional } from '../optional.js'
import type { Page, SessionRow, Store } from '../store/store.js'
import type { Follower, Head } from './committed.js'
import {
  checkFollower,
  checkId,
  checkListener,
  type ReadOptions,
  type SessionSnapshot,
} from './desk-options.js'
import type { Engine } from './engine.js'
import type { AllSessionsListener, GoneListener, Listener } from './listeners.js'

/** A page of pending interactions, oldest first. */
export interface PendingPage {
  interactions: Interaction[]
  next: string | null
}

/** A page of what is pending in all sessions. */
export interface InboxPage extends PendingPage {
  /** Number of pending interactions on all pages. */
  total: number
  /** The same by session; sessions without pending interactions are left out. */
  perSession: Readonly<Record<string, number>>
}

/** The reads of a desk, which are the same for all callers. */
export class DeskReader {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Classifies an edit by the desk's rules, for adapters. The agent runs in `cwd`. */
  async editScope(sessionId: string, cwd: string | null): Promise<EditScope> {
    const { protectedPaths } = this.#engine.options.edits
    // An agent may run in another folder than that of the session.
    return this.#engine.read(sessionId, (state) => ({
      cwd,
      protectedPaths,
      ...(state.cwd === cwd && { realCwd: state.realCwd }),
    }))
  }

  async snapshot(sessionId: string, options: ReadOptions = {}): Promise<SessionSnapshot> {
    const view = (state: SessionState) => {
      const now = this.#engine.options.clock.now()
      const json = stateToJson(state)
      const pending = json.pending.map((item) => viewInteraction(item, now))
      const { seq, logId } = state
      return { session: sessionOf(state), state: { ...json, pending }, seq, now, logId }
    }
    return this.#engine.read(sessionId, view, options)
  }

  /** Fresh by default, because an agent acts on the result. */
  async interaction(
    sessionId: string,
    interactionId: string,
    options: ReadOptions = { fresh: true },
  ): Promise<Interaction> {
    checkId(interactionId, 'interaction')
    const item =
      (await this.#engine.read(sessionId, (state) => state.interactions.get(interactionId), options)) ??
      (await this.#engine.options.store.interaction(interactionId))
    if (item?.sessionId === sessionId) return this.#engine.view(item)
    throw new AskbackError('not_found', `There is no interaction ${interactionId} in this session.`)
  }

  /** How a surface without a renderer asks for the answer to an interaction of a custom kind, or why it cannot be answered here. */
  async prompt(sessionId: string, interactionId: string): Promise<KindPromptResult> {
    const item = await this.interaction(sessionId, interactionId, { fresh: false })
    const { kind, onError } = this.#engine.options
    return promptFor(item, kind(item.kind), onError)
  }

  async pending(filter: { sessionId?: string; after?: string; limit?: number } = {}): Promise<PendingPage> {
    return pendingPage(this.#engine.options.store, filter, (item) => this.#engine.view(item))
  }

  /** A page of the pending interactions of all sessions, with the counts of all pages. */
  async inbox(query: { after?: string; limit?: number } = {}): Promise<InboxPage> {
    return { ...(await this.pending(query)), ...(await pendingTotals(this.#engine.options.store)) }
  }

  async sessions(query: { after?: string; limit?: number } = {}): Promise<Page<SessionRow>> {
    const page = optional(parse(pageInput, query, 'the query'))
    return this.#engine.options.store.sessions({ limit: 100, ...page })
  }

  async audit(query: { after?: string; limit?: number } = {}): Promise<Page<AuditRow>> {
    const page = optional(parse(pageInput, query, 'the query'))
    return this.#engine.options.store.audit({ limit: 1000, ...page })
  }

  async rules(): Promise<ApprovalRule[]> {
    const entries = await this.#engine.options.store.kv.list(RULES_PREFIX)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only `ruleWrite` writes these entries
    return entries.map(({ value }) => value as unknown as ApprovalRule)
  }

  /** A part of the log in ascending order: the events after `after`, or those before `before`. */
  async events(
    sessionId: string,
    query: { after?: number; before?: number; limit: number },
  ): Promise<SessionEvent[]> {
    const part = optional(parse(eventsInput, query, 'the query'))
    // The returned events must be durable, and the session must exist.
    await this.#engine.read(sessionId, (state) => state.seq)
    return this.#engine.options.store.read({ sessionId, ...part })
  }

  /** The agent of a session, `null` for outside agents. It decides which credentials may use the session. */
  agentOf(sessionId: string): Promise<string | null> {
    return this.#engine.read(sessionId, (state) => state.agent)
  }

  /**
   * Calls `listener` with events that became durable, in the order of each session's log, and `gone` when the log of a session is
   * erased. On a shared store this covers only the sessions that this desk has in memory or follows.
   */
  on(listener: Listener, gone?: GoneListener): () => void {
    checkListener(listener, gone)
    return this.#engine.on(listener, gone)
  }

  /**
   * Calls `follower` with every durable event of one session after the returned head, without gaps, until it is stopped. Fails
   * with `not_found` if the session does not exist.
   *
   * @example
   *   const { head, stop } = await desk.follow('deploy', {
   *     advanced: ({ events }) => show(events), // from `seq` `head.seq + 1` on
   *     gone: () => clear(), // deleted: nothing follows
   *   })
   */
  async follow(sessionId: string, follower: Follower): Promise<{ head: Head; stop: () => void }> {
    checkFollower(follower)
    return this.#engine.follow(sessionId, follower)
  }

  /**
   * Calls `listener` with events of all sessions that become durable from now on, also those of other processes. Each call
   * has events of one session. `gone` is called when the log of a session is erased: on a shared store that can happen before
   * its last events were read. Later events belong to another log under the same id.
   */
  async followAll(listener: AllSessionsListener, gone?: GoneListener): Promise<() => void> {
    checkListener(listener, gone)
    return this.#engine.allSessions.follow(listener, gone)
  }

  /** Reads what other processes have appended to this session. Followers and listeners get it before this resolves. */
  refresh(sessionId: string): Promise<void> {
    return this.#engine.refresh(sessionId)
  }
}

async function pendingPage(
  store: Store,
  filter: { sessionId?: string; after?: string; limit?: number },
  view: (item: Interaction) => Interaction,
): Promise<PendingPage> {
  const { limit = 100, ...rest } = optional(parse(pageInput, filter, 'the query'))
  const { items, next } = await store.pending({ ...rest, limit })
  return { interactions: items.map(view), next }
}

type PendingTotals = Readonly<Pick<InboxPage, 'total' | 'perSession'>>

/** A store may return the same map while nothing changes; copying the counts of ten thousand sessions per page is slow. */
const totalsByCounts = new WeakMap<ReadonlyMap<string, number>, PendingTotals>()

async function pendingTotals(store: Store): Promise<PendingTotals> {
  const counts = await store.pendingCounts()
  const known = totalsByCounts.get(counts)
  if (known) return known
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const totals = { total, perSession: Object.fromEntries(counts) }
  totalsByCounts.set(counts, totals)
  return totals
}
