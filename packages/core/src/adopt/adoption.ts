import {
  AskbackError,
  type Actor,
  type AdoptBody,
  type AdoptedItem,
  type Interaction,
  type SessionEvent,
  type SessionTags,
} from '@askback/protocol'
import type { Clock } from '../clock.js'
import {
  adoptedItems,
  adoptionKey,
  type AddCopyCommand,
  type AdoptCommand,
  type HistoryPlacement,
} from '../decide/adopt.js'
import { optional } from '../optional.js'
import type { Store } from '../store/store.js'
import { HistoryLog, type History } from './history-log.js'
import { LateCopies } from './late-copies.js'
import { pastCalls, placeInteractions } from './placement.js'
import { allSessions, sourceInteractions } from './source-interactions.js'

export interface AdoptOptions {
  /** The tags of the session that is made. */
  tags?: SessionTags | undefined
  /**
   * Whether the caller may read a session. What was asked in others is not copied.
   * @default they may read all
   */
  mayRead?: ((sessionId: string) => Promise<boolean>) | undefined
}

/** What adoption needs of the desk. */
export interface AdoptionPorts {
  store: Store
  clock: Clock
  onError: (error: unknown) => void
  isClosed: () => boolean
  run: (sessionId: string, command: AdoptCommand | AddCopyCommand) => Promise<{ events: SessionEvent[] }>
  /** Calls either function when the session has new events, or was deleted. */
  follow: (
    sessionId: string,
    follower: { advanced: () => void; gone: () => void },
  ) => Promise<{ stop: () => void }>
  agentSessionId: (sessionId: string) => Promise<string | null>
  /** The folder with links followed; undefined where there is no file system. */
  realFolder: (cwd: string | undefined) => Promise<string | null | undefined>
  /** Runs `begin` unless it would exceed the limit of sessions. */
  withinSessionLimit: <T>(sessionId: string, begin: () => Promise<T>) => Promise<T>
  /** Throws if one more session would exceed the limit. */
  checkSessionLimit: (sessionId: string) => Promise<void>
}

/**
 * Adopts a session that an agent has run outside of the gateway: its history becomes the log of a session here, with the
 * interactions of its scripts beside the tool calls that ran them. The history is written in parts; a repeated call, also a
 * concurrent one or one after a crash, continues with the part that is next.
 */
export class Adoption {
  readonly #ports: AdoptionPorts
  readonly #lateCopies: LateCopies

  constructor(ports: AdoptionPorts) {
    this.#ports = ports
    this.#lateCopies = new LateCopies(ports)
  }

  /** Continues what the last process left unfinished. */
  start(): Promise<void> {
    return this.#lateCopies.start()
  }

  /** `created` is true for the caller that wrote the last part. */
  async adopt(
    body: AdoptBody,
    { by, tags, mayRead }: AdoptOptions & { by: Actor },
  ): Promise<{ sessionId: string; created: boolean }> {
    const { store, clock } = this.#ports
    const sessionId = sessionIdOf(body)
    const existing = await this.#existingSession(body, sessionId)
    if (existing !== null) return { sessionId: existing, created: false }
    let first = await nextItem(store, sessionId)
    if (first === null) return { sessionId, created: false }
    if (first === 0) await this.#ports.checkSessionLimit(sessionId)
    const items = withTimes(body.items, clock.now())
    const interactions = await interactionsByCall(store, body, items, mayRead)
    const log = new HistoryLog({ sessionId, items, by, interactions })
    const startedAt = items[0]?.at ?? clock.now()
    const { agent, agentSessionId, cwd, title } = body
    const realCwd = await this.#ports.realFolder(cwd)
    const session = { agent, agentSessionId, startedAt, ...optional({ cwd, realCwd, title, tags }) }
    while (first !== null) {
      const { isWritten, next } = await this.#writePart(sessionId, session, log, first)
      if (isWritten && next === null) return { sessionId, created: true }
      first = isWritten ? next : await nextItem(store, sessionId)
    }
    return { sessionId, created: false }
  }

  /** The session that `adopt` would return, or continue to write; `null` if it would make a new one. */
  async find(body: AdoptBody): Promise<string | null> {
    const sessionId = sessionIdOf(body)
    const existing = await this.#existingSession(body, sessionId)
    return existing ?? ((await this.#ports.store.session(sessionId)) ? sessionId : null)
  }

  async #writePart(
    sessionId: string,
    session: Omit<AdoptCommand, 'type' | 'first' | 'part'>,
    log: HistoryLog,
    first: number,
  ): Promise<{ isWritten: boolean; next: number | null }> {
    const part = log.part(first)
    const run = () => this.#ports.run(sessionId, { type: 'adopt', ...session, first, part })
    const { events } = await (first === 0 ? this.#ports.withinSessionLimit(sessionId, run) : run())
    const isWritten = events.length > 0
    if (isWritten) this.#lateCopies.follow(sessionId, part.late)
    return { isWritten, next: part.next }
  }

  /** The id of a session here that runs this agent session already. With a second one, two sessions would write to one agent. */
  async #existingSession(
    { agent, agentSessionId, cwd }: AdoptBody,
    sessionId: string,
  ): Promise<string | null> {
    for await (const session of allSessions(this.#ports.store)) {
      if (session.agent !== agent || session.cwd !== (cwd ?? null) || session.id === sessionId) continue
      const known = await this.#ports.agentSessionId(session.id).catch(() => null)
      if (known === agentSessionId) return session.id
    }
    return null
  }
}

function sessionIdOf({ agent, agentSessionId }: AdoptBody): string {
  const sessionId = `${agent}.${agentSessionId}`
  if (/^[\w.:@-]{1,200}$/.test(sessionId)) return sessionId
  throw new AskbackError(
    'invalid_request',
    'The id of that session has characters that are not allowed here. A session id has 1 to 200 letters, digits, "_", "-", ".", ":" or "@".',
  )
}

/** Index of the first item that is not written yet; `null` if all are. */
async function nextItem(store: Store, sessionId: string): Promise<number | null> {
  const entry = await store.kv.get(adoptionKey(sessionId))
  if (entry) return adoptedItems(entry.value)
  return (await store.session(sessionId)) ? null : 0
}

async function interactionsByCall(
  store: Store,
  body: AdoptBody,
  items: AdoptedItem[],
  mayRead: AdoptOptions['mayRead'],
): Promise<History['interactions']> {
  const calls = pastCalls(items)
  const sources = await sourceInteractions(store, body, calls, mayRead)
  const placements = placeInteractions(calls, sources)
  const byCall = new Map<string, { interaction: Interaction; placement: HistoryPlacement }[]>()
  for (const { interaction } of sources) {
    const placement = placements.get(interaction.interactionId)
    if (!placement) continue
    const ofCall = byCall.get(placement.toolCallId)
    if (ofCall) ofCall.push({ interaction, placement })
    else byCall.set(placement.toolCallId, [{ interaction, placement }])
  }
  return byCall
}

/** An item without a time gets that of the one before it. No time is in the future. */
function withTimes(items: AdoptedItem[], now: number): AdoptedItem[] {
  let last = items.find(({ at }) => at > 0)?.at ?? now
  return items.map((item) => {
    last = Math.min(item.at > 0 ? item.at : last, now)
    return { ...item, at: last }
  })
}
