import {
  AskbackError,
  pendingOf,
  sessionOf,
  type LiveEvent,
  type NewEvent,
  type SessionEvent,
} from '@askback/protocol'
import { countBySession } from '../count-by-session.js'
import { AsyncQueue } from '../transport/async-queue.js'
import { ownAnswer } from '../transport/own-answer.js'
import {
  cursorOf,
  type AgentInfo,
  type ChangeItem,
  type StreamItem,
  type Transport,
} from '../transport/transport.js'
import { ScriptedSession } from './scripted-session.js'
import { settled, started } from './session-events.js'

export interface ScriptedTransport extends Transport {
  /** What was called, with what. */
  readonly calls: { method: string; args: unknown[] }[]
  /** Goes on with a session's log, and makes the session if there is none. Readers get it at once. */
  readonly play: (sessionId: string, ...events: NewEvent[]) => SessionEvent[]
  /** A piece of a block that is being made. */
  readonly playLive: (sessionId: string, event: LiveEvent) => void
  /** Anything, as a transport might deliver it. */
  readonly deliver: (sessionId: string, item: StreamItem) => void
  /** From now on calls fail as `unavailable`, and streams are offline; `true` ends that. */
  readonly online: (isOnline: boolean) => void
  /** The next call of this name fails so. */
  readonly failNext: (method: keyof Transport, error: AskbackError) => void
}

export interface ScriptedTransportOptions {
  agents?: AgentInfo[]
  by?: { id: string; name?: string }
  now?: () => number
}

/** A transport without anything behind it: plays what a test says, and writes down what it was asked. */
export function scriptedTransport(options: ScriptedTransportOptions = {}): ScriptedTransport {
  const { agents = [], by = { id: 'me' }, now = () => 1_800_000_000_000 } = options
  const sessions = new Map<string, ScriptedSession>()
  const watchers = new Set<AsyncQueue<ChangeItem>>()
  const failing = new Map<string, AskbackError>()
  const calls: ScriptedTransport['calls'] = []
  let isOnline = true

  /** Writes the call down, and lets it fail if it is meant to. */
  async function called<T>(method: string, args: unknown[], answer: () => T): Promise<T> {
    calls.push({ method, args })
    const error = failing.get(method)
    failing.delete(method)
    if (error) throw error
    if (!isOnline) throw new AskbackError('unavailable', 'The gateway cannot be reached.')
    return structuredClone(answer())
  }

  function session(sessionId: string): ScriptedSession {
    const known = sessions.get(sessionId)
    if (known) return known
    throw new AskbackError('not_found', `There is no session ${sessionId}.`)
  }

  function tell(sessionId: string, events: SessionEvent[]): SessionEvent[] {
    for (const event of events) {
      sessions.get(sessionId)?.stream({ type: 'event', event })
      for (const watcher of watchers) watcher.push({ type: 'event', event })
    }
    return events
  }

  function play(sessionId: string, ...events: NewEvent[]): SessionEvent[] {
    const known = sessions.get(sessionId)
    const playing = known ?? new ScriptedSession(sessionId)
    sessions.set(sessionId, playing)
    return tell(sessionId, playing.append(known ? events : [started(), ...events]))
  }

  function endWith<T>(queue: AsyncQueue<T>, signal: AbortSignal | undefined): AsyncQueue<T> {
    signal?.addEventListener('abort', () => queue.end())
    return queue
  }

  return {
    calls,
    play,
    playLive: (sessionId, event) => session(sessionId).stream({ type: 'live', event }),
    deliver: (sessionId, item) => session(sessionId).stream(item),
    online(value) {
      isOnline = value
      const error = new AskbackError('unavailable', 'The gateway cannot be reached.')
      const item = value
        ? ({ type: 'connection', status: 'live' } as const)
        : ({ type: 'connection', status: 'offline', error } as const)
      for (const playing of sessions.values()) playing.stream(item)
      for (const watcher of watchers) watcher.push(item)
    },
    failNext: (method, error) => failing.set(method, error),

    agents: () => called('agents', [], () => agents),
    sessions: (query) =>
      called('sessions', [query], () => ({
        sessions: [...sessions.values()].map(({ state }) => sessionOf(state)).reverse(),
        next: null,
      })),
    create: (body = {}, asked) =>
      called('create', [body, asked], () => {
        const { agent = 'demo', title, cwd, permissionMode = 'default' } = body
        const id = `s${sessions.size + 1}`
        const playing = new ScriptedSession(id)
        sessions.set(id, playing)
        const begin = { type: 'session_started', agent, permissionMode } as const
        tell(
          id,
          playing.append([
            { ...begin, ...(title !== undefined && { title }), ...(cwd !== undefined && { cwd }) },
          ]),
        )
        return sessionOf(playing.state)
      }),
    snapshot: (sessionId) => called('snapshot', [sessionId], () => session(sessionId).snapshot(now())),
    events: (sessionId, after, signal) => {
      calls.push({ method: 'events', args: [sessionId, after] })
      return endWith(session(sessionId).read(cursorOf(after)), signal)
    },
    history: (sessionId, query = {}) =>
      called('history', [sessionId, query], () => {
        const { after = 0, before = Number.POSITIVE_INFINITY, limit = 1000 } = query
        const all = session(sessionId).log.events.filter(({ seq }) => seq > after && seq < before)
        const events = query.before === undefined ? all.slice(0, limit) : all.slice(-limit)
        const edge = query.before === undefined ? events.at(-1) : events[0]
        return { events, next: events.length < all.length ? edge!.seq : null }
      }),
    send: (sessionId, message, asked) =>
      called('send', [sessionId, message, asked], () => {
        const text = typeof message === 'string' ? message : message.text
        play(sessionId, { type: 'user_message', text, by })
        return { routed: 'agent' as const }
      }),
    respond: (input, asked) =>
      called('respond', [input, asked], () => {
        try {
          const answered = session(input.sessionId).settle(input, by)
          tell(input.sessionId, answered.events)
          return answered
        } catch (error) {
          const own = ownAnswer(error, input.answer)
          if (own) return own
          throw error
        }
      }),
    cancel: (sessionId, interactionId, asked) =>
      called('cancel', [sessionId, interactionId, asked], () => {
        const { toolCallId, toolName, kind } = session(sessionId).interaction(interactionId)
        play(
          sessionId,
          ...settled(interactionId, { settlement: 'cancelled', toolCallId, toolName, kind, by }),
        )
        return session(sessionId).state.interactions.get(interactionId)!
      }),
    interrupt: (sessionId, asked) => called('interrupt', [sessionId, asked], () => undefined),
    clear: (sessionId, asked) => called('clear', [sessionId, asked], () => undefined),
    setPermissionMode: (sessionId, mode, asked) =>
      called('setPermissionMode', [sessionId, mode, asked], () => {
        play(sessionId, {
          type: 'session_status',
          status: session(sessionId).state.status,
          permissionMode: mode,
        })
      }),
    remove: (sessionId, asked) =>
      called('remove', [sessionId, asked], () => {
        const { permissionMode } = session(sessionId).state
        play(sessionId, { type: 'session_status', status: 'ended', permissionMode })
        sessions.delete(sessionId)
      }),
    inbox: (query) =>
      called('inbox', [query], () => {
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
    wake: () => undefined,
    close: () => undefined,
  }
}
