import {
  AskbackError,
  AsyncQueue,
  emptyState,
  fold,
  pendingOf,
  sessionOf,
  stateToJson,
  type Actor,
  type Interaction,
  type KindPrompt,
  type LiveEvent,
  type NewEvent,
  type SessionEvent,
  type SessionState,
  type SettlementKind,
} from '@askback/protocol'
import { countBySession } from '../stores/inbox-store.js'
import {
  alreadyAnswered,
  cursorOf,
  type AgentInfo,
  type ChangeItem,
  type Cursor,
  type RespondInput,
  type SessionSnapshot,
  type SettleResult,
  type StreamItem,
  type Transport,
} from '../transport/transport.js'
import { EventLog, settled, started } from './session-events.js'

export interface ScriptedTransport extends Transport {
  /** Every call, with its arguments. */
  readonly calls: { method: string; args: unknown[] }[]
  /** Appends events to a session's log, which it creates if there is none. Readers get them at once. */
  readonly play: (sessionId: string, ...events: NewEvent[]) => SessionEvent[]
  /** Sends a live event: a piece of an unfinished block. */
  readonly playLive: (sessionId: string, event: LiveEvent) => void
  /** Sends any item to the readers of a session, without the log: for example events twice or out of order. */
  readonly deliver: (sessionId: string, item: StreamItem) => void
  /** Deletes a session without sending its last events. */
  readonly erase: (sessionId: string) => void
  /** With `false`, calls fail as `unavailable` and streams are offline, until it is called with `true`. */
  readonly online: (isOnline: boolean) => void
  /** Makes the next call of this method fail with this error. */
  readonly failNext: (method: keyof Transport, error: AskbackError) => void
}

/** The options of `ScriptedTransport`. */
export interface ScriptedTransportOptions {
  /**
   * The prompts of custom kinds, by kind. A kind that is missing cannot be answered.
   *
   * @default there is no `prompt`, as with a gateway that makes none
   */
  prompts?: Readonly<Record<string, KindPrompt>>
  /** @default none */
  agents?: AgentInfo[]
  /**
   * The person who answers.
   *
   * @default { id: 'me' }
   */
  by?: { id: string; name?: string }
  /**
   * Server time, in epoch milliseconds.
   *
   * @default 1_800_000_000_000
   */
  now?: () => number
}

/**
 * A transport without a gateway, for tests of surfaces: the test appends events, and the transport records every call.
 *
 * @example
 * const transport = scriptedTransport()
 * transport.play('s1', ...asked('i1'))
 * const client = createClient(transport)
 */
export function scriptedTransport({
  agents = [],
  prompts,
  by = { id: 'me' },
  now = () => 1_800_000_000_000,
}: ScriptedTransportOptions = {}): ScriptedTransport {
  const sessions = new Map<string, ScriptedSession>()
  const watchers = new Set<AsyncQueue<ChangeItem>>()
  const nextErrors = new Map<string, AskbackError>()
  const calls: ScriptedTransport['calls'] = []
  let isOnline = true

  /** Records the call, fails it if the test says so, and else returns a copy of the reply. */
  async function recordCall<T>(method: string, args: unknown[], answer: () => T): Promise<T> {
    calls.push({ method, args })
    const error = nextErrors.get(method)
    nextErrors.delete(method)
    if (error) throw error
    if (!isOnline) throw new AskbackError('unavailable', 'The gateway cannot be reached.')
    return structuredClone(answer())
  }

  function session(sessionId: string): ScriptedSession {
    const known = sessions.get(sessionId)
    if (known) return known
    throw new AskbackError('not_found', `There is no session ${sessionId}.`)
  }

  function publish(sessionId: string, events: SessionEvent[]): SessionEvent[] {
    for (const event of events) {
      sessions.get(sessionId)?.publish({ type: 'event', event })
      for (const watcher of watchers) watcher.push({ type: 'event', event })
    }
    return events
  }

  function play(sessionId: string, ...events: NewEvent[]): SessionEvent[] {
    const known = sessions.get(sessionId)
    const target = known ?? new ScriptedSession(sessionId)
    sessions.set(sessionId, target)
    return publish(sessionId, target.append(known ? events : [started(), ...events]))
  }

  function endWith<T>(queue: AsyncQueue<T>, signal: AbortSignal | undefined): AsyncQueue<T> {
    signal?.addEventListener('abort', () => queue.end())
    return queue
  }

  return {
    calls,
    play,
    playLive: (sessionId, event) => session(sessionId).publish({ type: 'live', event }),
    deliver: (sessionId, item) => session(sessionId).publish(item),
    erase(sessionId) {
      sessions.delete(sessionId)
      for (const watcher of watchers) watcher.push({ type: 'gone', sessionId })
    },
    online(value) {
      isOnline = value
      const error = new AskbackError('unavailable', 'The gateway cannot be reached.')
      const item = value
        ? ({ type: 'connection', status: 'live' } as const)
        : ({ type: 'connection', status: 'offline', error } as const)
      for (const each of sessions.values()) each.publish(item)
      for (const watcher of watchers) watcher.push(item)
    },
    failNext: (method, error) => nextErrors.set(method, error),

    agents: () => recordCall('agents', [], () => agents),
    sessions: (query) =>
      recordCall('sessions', [query], () => ({
        sessions: [...sessions.values()].map(({ state }) => sessionOf(state)).reverse(),
        next: null,
      })),
    create: (body = {}, options) =>
      recordCall('create', [body, options], () => {
        const { agent = 'demo', title, cwd, permissionMode = 'default' } = body
        const id = `s${sessions.size + 1}`
        const created = new ScriptedSession(id)
        sessions.set(id, created)
        const begin = { type: 'session_started', agent, permissionMode } as const
        publish(
          id,
          created.append([
            { ...begin, ...(title !== undefined && { title }), ...(cwd !== undefined && { cwd }) },
          ]),
        )
        return sessionOf(created.state)
      }),
    snapshot: (sessionId) => recordCall('snapshot', [sessionId], () => session(sessionId).snapshot(now())),
    events: (sessionId, after, signal) => {
      calls.push({ method: 'events', args: [sessionId, after] })
      return endWith(session(sessionId).read(cursorOf(after)), signal)
    },
    history: (sessionId, query = {}) =>
      recordCall('history', [sessionId, query], () => {
        const { after = 0, before = Number.POSITIVE_INFINITY, limit = 1000 } = query
        const all = session(sessionId).log.events.filter(({ seq }) => seq > after && seq < before)
        const events = query.before === undefined ? all.slice(0, limit) : all.slice(-limit)
        const edge = query.before === undefined ? events.at(-1) : events[0]
        return { events, next: events.length < all.length ? edge!.seq : null }
      }),
    send: (sessionId, message, options) =>
      recordCall('send', [sessionId, message, options], () => {
        const text = typeof message === 'string' ? message : message.text
        play(sessionId, { type: 'user_message', text, by })
        return { routed: 'agent' as const }
      }),
    respond: (input, options) =>
      recordCall('respond', [input, options], () => {
        try {
          const answered = session(input.sessionId).settle(input, by)
          publish(input.sessionId, answered.events)
          return answered
        } catch (error) {
          const earlier = alreadyAnswered(error, input.answer)
          if (earlier) return earlier
          throw error
        }
      }),
    ...(prompts && {
      prompt: (sessionId: string, interactionId: string) =>
        recordCall('prompt', [sessionId, interactionId], () => {
          const kind = session(sessionId).state.interactions.get(interactionId)?.kind ?? ''
          const prompt = prompts[kind]
          return prompt
            ? { prompt }
            : { prompt: null, reason: `This gateway does not have the kind “${kind}”.` }
        }),
    }),
    cancel: (sessionId, interactionId, options) =>
      recordCall('cancel', [sessionId, interactionId, options], () => {
        const { toolCallId, toolName, kind } = session(sessionId).interaction(interactionId)
        play(
          sessionId,
          ...settled(interactionId, { settlement: 'cancelled', toolCallId, toolName, kind, by }),
        )
        return session(sessionId).state.interactions.get(interactionId)!
      }),
    interrupt: (sessionId, options) => recordCall('interrupt', [sessionId, options], () => undefined),
    clear: (sessionId, options) => recordCall('clear', [sessionId, options], () => undefined),
    setPermissionMode: (sessionId, mode, options) =>
      recordCall('setPermissionMode', [sessionId, mode, options], () => {
        play(sessionId, {
          type: 'session_status',
          status: session(sessionId).state.status,
          permissionMode: mode,
        })
      }),
    remove: (sessionId, options) =>
      recordCall('remove', [sessionId, options], () => {
        const { permissionMode } = session(sessionId).state
        play(sessionId, { type: 'session_status', status: 'ended', permissionMode })
        sessions.delete(sessionId)
        for (const watcher of watchers) watcher.push({ type: 'gone', sessionId })
      }),
    inbox: (query) =>
      recordCall('inbox', [query], () => {
        const interactions = [...sessions.values()].flatMap(({ state }) => pendingOf(state))
        const perSession = Object.fromEntries(countBySession(interactions))
        return { interactions, next: null, total: interactions.length, perSession }
      }),
    changes: (signal) => {
      const queue = new AsyncQueue<ChangeItem>(() => watchers.delete(queue))
      watchers.add(queue)
      if (isOnline) queue.push({ type: 'connection', status: 'live' })
      return endWith(queue, signal)
    },
    retryNow: () => undefined,
    close: () => undefined,
  }
}

/** One session of a scripted transport: its log, and its readers. */
class ScriptedSession {
  readonly log: EventLog
  readonly readers = new Set<AsyncQueue<StreamItem>>()
  #state: SessionState

  constructor(sessionId: string) {
    this.log = new EventLog(sessionId)
    this.#state = emptyState(sessionId)
  }

  get state(): SessionState {
    return this.#state
  }

  append(events: NewEvent[]): SessionEvent[] {
    const appended = this.log.append(...events)
    this.#state = fold(this.#state, appended)
    return appended
  }

  publish(item: StreamItem): void {
    for (const reader of this.readers) reader.push(item)
  }

  read(after: Cursor): AsyncQueue<StreamItem> {
    const queue = new AsyncQueue<StreamItem>(() => this.readers.delete(queue))
    this.readers.add(queue)
    queue.push({ type: 'connection', status: 'live' })
    for (const event of this.log.events) if (event.seq > after.seq) queue.push({ type: 'event', event })
    return queue
  }

  snapshot(now: number, live: LiveEvent[] = []): SessionSnapshot {
    const { seq, logId } = this.#state
    return { session: sessionOf(this.#state), state: stateToJson(this.#state), seq, now, logId, live }
  }

  /** Settles an interaction with the answer's own decision, as the desk does for approvals and plans. */
  settle({ interactionId, answer }: RespondInput, by: Actor): SettleResult {
    const item = this.interaction(interactionId)
    const { toolCallId, toolName, kind, presentation, digest } = item
    const settlement = settlementOf(answer)
    const shared = { interactionId, toolCallId, toolName }
    const events = this.append([
      { type: 'interaction_response', ...shared, kind, digest, settlement, answer, by, via: 'direct' },
      { type: 'interaction_pending', ...shared, presentation, pending: false, reason: settlement },
    ])
    return { interaction: this.#state.interactions.get(interactionId)!, events }
  }

  /** A pending interaction. Throws what a desk would throw: `not_found`, or `already_settled` with the interaction. */
  interaction(interactionId: string): Interaction {
    const item = this.#state.interactions.get(interactionId)
    if (!item) throw new AskbackError('not_found', `There is no interaction ${interactionId}.`)
    if (item.status === 'pending') return item
    throw new AskbackError('already_settled', 'This was already settled.', { details: { interaction: item } })
  }
}

function settlementOf(answer: RespondInput['answer']): SettlementKind {
  const decision = typeof answer === 'object' && answer !== null && 'decision' in answer && answer['decision']
  if (decision === false) return 'answered'
  return decision === 'deny' || decision === 'adjust' ? 'denied' : 'approved'
}
