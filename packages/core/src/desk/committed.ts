import { AskbackError, type SessionEvent } from '@askback/protocol'
import type { Store } from '../store/store.js'

declare const durable: unique symbol

/** A `seq` that the store has confirmed. Only `Committed` makes one. */
export type DurableSeq = number & { readonly [durable]: true }

/** The last durable event of a session's log. */
export interface Head {
  /** The id of the log's first event: a session that was deleted and created again has another log. */
  readonly logId: string
  readonly seq: DurableSeq
  readonly id: string
}

/** Events of one session that became durable. `events` end at `head` and are in the order of the log, without gaps. */
export interface Advance {
  sessionId: string
  head: Head
  /**
   * Empty when the session was loaded on a shared store: a listener may have missed earlier events. Followers of the session never
   * miss any.
   */
  events: SessionEvent[]
  /** The same as JSON, one text each. */
  texts: () => string[]
}

/** Receives every durable event of one session after a head. */
export interface Follower {
  advanced(advance: Advance): void
  /** The log was erased: the session was deleted, and may exist again with another log. */
  gone(): void
}

/** An append of this process. Exactly one of `committed` and `abandoned` is called, once. */
export abstract class OwnAppend {
  readonly events: SessionEvent[]
  /** The log that it was decided on. The session may have another log by the time of the reply. */
  logId = ''
  outcome: 'open' | 'unknown' | 'acknowledged' | 'committed' | 'abandoned' = 'open'
  /** The events as JSON, one text each: for the store and for the listeners. */
  readonly texts = (): string[] => eventTexts(this.events)

  constructor(events: SessionEvent[]) {
    this.events = events
  }

  abstract committed(): void
  abstract abandoned(): void
}

/** One for all sessions: there may be a hundred thousand of them in memory. */
export interface CommittedPorts {
  store: Store
  now: () => number
  /** `foreign` are the events that this process did not append. */
  advanced(advance: Advance, foreign: SessionEvent[]): void
  gone(sessionId: string): void
  /** Called when no read is running any more. */
  idle(committed: Committed): void
  onError(error: unknown): void
}

/** Events per read. */
export const LOG_PAGE = 1000
const NO_EVENTS: SessionEvent[] = []
/** Shared by all sessions without pending appends; never changed. */
const NO_APPENDS: OwnAppend[] = []

/**
 * The committed head of one session's log, as this process knows it. Everything that this process publishes about the session
 * (listeners, followers, deadlines, waiters) starts at `advanced` and `gone` of this class.
 *
 *   unknown --begin--> head --(reply to an append | page read from the store)--> later head of the same log
 *                       |
 *                       +--(another log, or none, is in the store)--> gone, then the head of that log
 *
 * The head advances only by the reply to an append or by a read. A read starts at the known head, so the first event of the page
 * proves that it is still the same log. A hint (doorbell, poll, failed append, erasure) carries no position: it only causes a read.
 */
export class Committed {
  readonly sessionId: string
  /** When the last successful read began, by the desk's clock. Everything appended before that time is known. */
  readAt = 0
  readonly #ports: CommittedPorts
  #head: Head | null = null
  #isKnown = false
  /** A hint came while the head was not known yet. */
  #wasHinted = false
  /** Own appends without a known outcome, in the order of the log. */
  #sent: OwnAppend[] = NO_APPENDS
  #followers: Set<Follower> | null = null
  /** Events up to this `seq` are own appends. A page may end in the middle of an append. */
  #ownUntil = 0
  #pulling: Promise<void> | null = null
  #queued: Promise<void> | null = null
  #closed = false

  constructor(sessionId: string, ports: CommittedPorts) {
    this.sessionId = sessionId
    this.#ports = ports
  }

  /** `null` where there is no log. */
  get head(): Head | null {
    return this.#head
  }

  /** Whether the head has been read from the store. */
  get isKnown(): boolean {
    return this.#isKnown
  }

  /** Whether a pull was asked for before the head was known. */
  get wasHinted(): boolean {
    return this.#wasHinted
  }

  /** Calls `follower` with every advance from now on, until the returned function is called. */
  follow(follower: Follower): () => void {
    const followers = (this.#followers ??= new Set())
    followers.add(follower)
    return () => {
      followers.delete(follower)
      if (followers.size === 0 && this.#followers === followers) this.#followers = null
    }
  }

  get isFollowed(): boolean {
    return this.#followers !== null
  }

  /** Whether this event is the head or the last one of an own append: its doorbell needs no read. */
  knows(eventId: string): boolean {
    return this.#head?.id === eventId || this.#sent.some(({ events }) => events.at(-1)!.id === eventId)
  }

  /** Whether a read is running or about to begin. */
  get isPulling(): boolean {
    return this.#pulling !== null || this.#queued !== null
  }

  /** Sets the head to the end of a log that was just read. */
  begin(last: { logId: string; seq: number; id: string } | null, readAt: number): void {
    this.#isKnown = true
    this.readAt = readAt
    this.#head = last && { logId: last.logId, seq: durableSeq(last.seq), id: last.id }
    if (this.#head && this.#ports.store.shared) this.#tell(this.#head, NO_EVENTS, NO_EVENTS, noTexts)
  }

  /** Reads what is after the head. Resolves when a read that began after this call has ended. */
  pull(): Promise<void> {
    if (!this.#isKnown) {
      this.#wasHinted = true
      return Promise.resolve()
    }
    if (!this.#pulling) return this.#startPull()
    this.#queued ??= this.#pulling.catch(ignore).then(() => {
      this.#queued = null
      return this.#startPull()
    })
    return this.#queued
  }

  /** Registers an append before it is sent, so that its events are recognised in the reply and in a read. */
  expect(sent: OwnAppend, logId: string): void {
    sent.logId = logId
    // Usually it is the only one. `push` on an empty array reserves memory for sixteen more.
    if (this.#sent.length === 0) this.#sent = [sent]
    else this.#sent.push(sent)
  }

  /** The store has acknowledged the append. */
  confirm(sent: OwnAppend): void {
    if (sent.outcome === 'committed') return
    // Its log was erased since. In the new log the same `seq` is another event.
    if (this.#head && this.#head.logId !== sent.logId) return this.#settle(sent)
    if (sent.events[0]!.seq === (this.#head?.seq ?? 0) + 1)
      return sent.outcome === 'open' ? this.#advanceTo(sent) : this.#advance(sent.events)
    sent.outcome = 'acknowledged'
    const proven = this.#chainTo(sent)
    if (proven) this.#advance(proven)
    else void this.pull().catch(ignore)
  }

  /** The store has refused the append. */
  abandon(sent: OwnAppend): void {
    if (sent.outcome === 'committed' || sent.outcome === 'abandoned') return
    sent.outcome = 'abandoned'
    this.#remove(sent)
    sent.abandoned()
  }

  /** It is unknown whether the append was written. The next read shows it. */
  doubt(sent: OwnAppend): void {
    if (sent.outcome === 'open') sent.outcome = 'unknown'
    if (this.#closed) this.abandon(sent)
  }

  /** Whether there are appends with an unknown outcome. */
  get hasUnknownAppends(): boolean {
    return this.#sent.some(({ outcome }) => outcome === 'unknown')
  }

  /** Ends reading. */
  close(): void {
    this.#closed = true
    for (const sent of this.#sent.filter(({ outcome }) => outcome === 'unknown')) this.abandon(sent)
  }

  /**
   * The events from the head to an acknowledged append. On a store that is not shared, the append could only succeed if the own appends
   * before it were written, even if their replies were lost.
   */
  #chainTo(last: OwnAppend): SessionEvent[] | null {
    if (this.#ports.store.shared) return null
    let seq: number = this.#head?.seq ?? 0
    const events: SessionEvent[] = []
    for (const sent of this.#sent) {
      if (sent.events[0]!.seq !== seq + 1) continue
      for (const event of sent.events) events.push(event)
      seq = sent.events.at(-1)!.seq
      if (sent === last) return events
    }
    return null
  }

  #startPull(): Promise<void> {
    const pulling = this.#pull().finally(() => {
      if (this.#pulling !== pulling) return
      this.#pulling = null
      this.#ports.idle(this)
    })
    this.#pulling = pulling
    return pulling
  }

  async #pull(): Promise<void> {
    const { store, now } = this.#ports
    const startedAt = now()
    const doubtful = this.#sent.filter(({ outcome }) => outcome === 'unknown')
    const acknowledged = this.#sent.filter(({ outcome }) => outcome === 'acknowledged')
    for (;;) {
      const from = this.#head
      const page = await readAfter(store, this.sessionId, from)
      if (this.#head?.logId !== from?.logId) continue
      if (page === null) {
        await this.#checkGone(from!)
        continue
      }
      const fresh = page.filter(({ seq }) => seq > (this.#head?.seq ?? 0))
      if (fresh.length > 0) this.#advance(fresh)
      if (page.length < LOG_PAGE) break
    }
    this.readAt = startedAt
    // The appends that were written have been recognised by now.
    for (const sent of doubtful) this.abandon(sent)
    for (const sent of acknowledged)
      if (sent.outcome === 'acknowledged' && sent.logId !== this.#head?.logId) this.#settle(sent)
  }

  /** The event at the head was not found. The first event of the log decides whether it is another log; an empty page does not. */
  async #checkGone(head: Head): Promise<void> {
    const [first] = await this.#ports.store.read({ sessionId: this.sessionId, limit: 1 })
    if (this.#head?.logId !== head.logId) return
    if (first?.id === head.logId) {
      throw new AskbackError(
        'unavailable',
        `The store does not show event ${head.seq} of session ${this.sessionId}, which it had confirmed.`,
      )
    }
    this.#head = null
    this.#ownUntil = 0
    for (const sent of this.#sent.filter(({ outcome }) => outcome === 'acknowledged')) this.#settle(sent)
    this.#ports.gone(this.sessionId)
    this.#tellFollowers((follower) => follower.gone())
  }

  #advance(events: SessionEvent[]): void {
    const head = this.#moveHead(events)
    this.#tell(head, events, this.#recogniseOwn(events), () => eventTexts(events))
  }

  /** `#advance` for one own append whose reply came in order: no event must be recognised by its id. */
  #advanceTo(sent: OwnAppend): void {
    const { events } = sent
    const head = this.#moveHead(events)
    this.#ownUntil = head.seq
    this.#settle(sent)
    this.#tell(head, events, NO_EVENTS, sent.texts)
  }

  #moveHead(events: SessionEvent[]): Head {
    const last = events[events.length - 1]!
    const logId = this.#head?.logId ?? events[0]!.id
    return (this.#head = { logId, seq: durableSeq(last.seq), id: last.id })
  }

  #tell(head: Head, events: SessionEvent[], foreign: SessionEvent[], texts: Advance['texts']): void {
    const advance = { sessionId: this.sessionId, head, events, texts }
    this.#ports.advanced(advance, foreign)
    if (this.#followers && events.length > 0) this.#tellFollowers((follower) => follower.advanced(advance))
  }

  #tellFollowers(tell: (follower: Follower) => void): void {
    if (!this.#followers) return
    for (const follower of this.#followers) {
      try {
        tell(follower)
      } catch (error) {
        this.#ports.onError(error)
      }
    }
  }

  /** Completes the own appends that are among the events. Returns the events of other processes. */
  #recogniseOwn(events: SessionEvent[]): SessionEvent[] {
    let foreign = NO_EVENTS
    for (const event of events) {
      if (event.seq <= this.#ownUntil) continue
      const index = this.#sent.findIndex((sent) => sent.events[0]!.id === event.id)
      if (index < 0) {
        if (foreign === NO_EVENTS) foreign = []
        foreign.push(event)
        continue
      }
      const sent = this.#sent[index]!
      this.#ownUntil = sent.events.at(-1)!.seq
      this.#settle(sent)
    }
    return foreign
  }

  #settle(sent: OwnAppend): void {
    this.#remove(sent)
    sent.outcome = 'committed'
    sent.committed()
  }

  #remove(sent: OwnAppend): void {
    // Mostly the only one: `splice` would make a list of what it takes out.
    if (this.#sent.length === 1 && this.#sent[0] === sent) this.#sent = NO_APPENDS
    else this.#sent = this.#sent.filter((one) => one !== sent)
  }
}

/**
 * The events after a known one, at most a page. `null` if that event is not in the log: then there is another log or none, and
 * reading on would mix two logs.
 */
export async function readAfter(
  store: Store,
  sessionId: string,
  from: { seq: number; id: string } | null,
): Promise<SessionEvent[] | null> {
  if (!from) return store.read({ sessionId, limit: LOG_PAGE })
  const page = await store.read({ sessionId, after: from.seq - 1, limit: LOG_PAGE + 1 })
  return page[0]?.id === from.id ? page.slice(1) : null
}

function ignore(): void {}

function noTexts(): string[] {
  return []
}

function durableSeq(seq: number): DurableSeq {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type is only a mark; `Committed` calls this for events that it has read or appended
  return seq as DurableSeq
}

const textsByEvents = new WeakMap<readonly SessionEvent[], string[]>()

/** The texts of `eventTexts`, if they were made before. */
export function knownTexts(events: readonly SessionEvent[]): string[] | undefined {
  return textsByEvents.get(events)
}

/** The events of an append as JSON. Made on first use, once for the store and all streams. */
export function eventTexts(events: readonly SessionEvent[]): string[] {
  const known = textsByEvents.get(events)
  if (known) return known
  const texts = events.map((event) => JSON.stringify(event))
  textsByEvents.set(events, texts)
  return texts
}
