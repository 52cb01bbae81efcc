import type { Interaction, LiveEvent, OpenBody, ReportedEvent, SessionEvent } from '@askback/protocol'
import type { FakeClock } from '@askback/protocol/testing'
import { vi } from 'vitest'
import type { StreamItem, Transport } from '../transport/transport.js'

/** A transport on a real host, and the parts around it that a test controls. */
export interface ConformanceSubject {
  transport: Transport
  /** A transport of another person, on the same host. */
  other: Transport
  backend: ConformanceBackend
  /** `null` if nothing between client and host can fail. */
  faults: TransportFaults | null
  close(): Promise<void>
}

/** Sets up a subject with a clock that stands still unless a test moves it, and without randomness. */
export type SetUp = (timing: { clock: FakeClock; random: () => number }) => Promise<ConformanceSubject>

/** What the conformance suite needs behind a transport. */
export interface ConformanceBackend {
  /** The id of an agent that does nothing by itself. */
  readonly agent: string
  /** Opens an interaction, as an agent would. */
  ask(input: OpenBody & { sessionId: string }): Promise<Interaction>
  report(sessionId: string, ...events: ReportedEvent[]): Promise<void>
  /** Sends a piece of an unfinished block, in a session whose agent runs. */
  live(sessionId: string, delta: Omit<Extract<LiveEvent, { type: 'text_delta' }>, 'offset'>): void
  /** The log of the host. */
  log(sessionId: string): Promise<SessionEvent[]>
}

/** The failures that the conformance suite can cause. */
export interface TransportFaults {
  /** Cuts every connection. */
  cut(): void
  /** Cuts a connection in the middle of the next data from the host. */
  cutMidFrame(): void
  /** Lets nothing through any more on the open streams, without closing them. */
  stall(): void
  /** Makes the host unreachable until `online`. */
  offline(): void
  online(): void
  /** Stops the host and starts it again with the same log. */
  restart(): Promise<void>
  /** Delivers events twice and in another order. */
  shuffle(isOn: boolean): void
  /** Lets the next write reach the host, and loses its reply. */
  loseNextReply(): void
  /** Revokes the credential of the transport. */
  revoke(): Promise<void>
}

export interface StreamReader {
  readonly items: StreamItem[]
  readonly events: SessionEvent[]
  readonly statuses: string[]
  /** Resolves when the stream has ended; rejects with what it threw. */
  readonly over: Promise<void>
  stop(): void
}

/** Collects everything that a stream of events yields. */
export function readStream(
  transport: Transport,
  sessionId: string,
  after: number | { seq: number; logId?: string } = 0,
): StreamReader {
  const stopping = new AbortController()
  const items: StreamItem[] = []
  const over = (async () => {
    for await (const item of transport.events(sessionId, after, stopping.signal)) items.push(item)
  })()
  // A test that expects a rejection awaits `over` itself.
  over.catch(() => undefined)
  return {
    items,
    get events() {
      return items.flatMap((item) => (item.type === 'event' ? [item.event] : []))
    },
    get statuses() {
      return items.flatMap((item) => (item.type === 'connection' ? [item.status] : []))
    },
    over,
    stop: () => stopping.abort(),
  }
}

/** Waits until `check` passes. If a `transport` is given, its waits between attempts are ended meanwhile: time stands still. */
export async function until(check: () => void | Promise<void>, transport?: Transport): Promise<void> {
  await vi.waitFor(
    async () => {
      transport?.retryNow()
      await check()
    },
    { timeout: 60_000, interval: 10 },
  )
}

/** The result of a call whose waits between attempts are ended at once. */
export async function withoutBackoff<T>(transport: Transport, call: Promise<T>): Promise<T> {
  let isDone = false
  const finish = () => {
    isDone = true
  }
  call.then(finish, finish)
  await until(() => {
    if (!isDone) throw new Error('The call is still under way.')
  }, transport)
  return call
}

export const question = {
  questions: [
    {
      header: 'Database',
      question: 'Which?',
      options: [{ label: 'Postgres' }, { label: 'SQLite' }],
      multiSelect: false,
    },
    { header: 'Tools', question: 'Which?', options: [{ label: 'a, b' }, { label: 'c' }], multiSelect: true },
  ],
}
export const replies = { answers: [{ selected: ['SQLite'] }, { selected: ['a, b', 'c'] }] }
export const form = { message: 'Port?', schema: { fields: [{ name: 'port', type: 'number', max: 65_535 }] } }
