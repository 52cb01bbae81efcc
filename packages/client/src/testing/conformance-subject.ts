import type { Interaction, LiveEvent, OpenBody, Reported, SessionEvent } from '@askback/protocol'
import { vi } from 'vitest'
import type { StreamItem, Transport } from '../transport/transport.js'
import type { FakeClock } from './fake-clock.js'

/** A transport on a real host, and everything around it that a test has to move. */
export interface ConformanceSubject {
  transport: Transport
  /** Of another person, on the same host. */
  other: Transport
  backend: ConformanceBackend
  /** `null` where nothing lies between client and host. */
  faults: TransportFaults | null
  close(): Promise<void>
}

/** Time stands still unless a test moves it, and all chances are the same. */
export type SetUp = (timing: { clock: FakeClock; random: () => number }) => Promise<ConformanceSubject>

export interface ConformanceBackend {
  /** An agent that does nothing by itself. */
  readonly agent: string
  /** Asks as an agent would. */
  ask(input: OpenBody & { sessionId: string }): Promise<Interaction>
  report(sessionId: string, ...events: Reported[]): Promise<void>
  /** A piece of a block, of a session whose agent runs. */
  live(sessionId: string, delta: Omit<Extract<LiveEvent, { type: 'text_delta' }>, 'offset'>): void
  /** The log as the host has it. */
  log(sessionId: string): Promise<SessionEvent[]>
}

export interface TransportFaults {
  /** Every connection is lost. */
  cut(): void
  /** Of what comes next from the host only a part arrives, and then the connection is lost. */
  cutMidFrame(): void
  /** Nothing comes through any more, though the connection stands. */
  stall(): void
  /** The host cannot be reached, until it can be again. */
  offline(): void
  online(): void
  /** The host ends, and comes back with its log. */
  restart(): Promise<void>
  /** Events come more than once and in another order. */
  shuffle(isOn: boolean): void
  /** The next write arrives, and its answer does not. */
  loseNextReply(): void
  /** The credential is no longer good. */
  revoke(): Promise<void>
}

export interface StreamReader {
  readonly items: StreamItem[]
  readonly events: SessionEvent[]
  readonly statuses: string[]
  /** Resolves when the stream is over; rejects with what it threw. */
  readonly over: Promise<void>
  stop(): void
}

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

/** Waits until it holds; `transport` is told to try again at once meanwhile. */
export async function until(check: () => void | Promise<void>, transport?: Transport): Promise<void> {
  await vi.waitFor(
    async () => {
      transport?.wake()
      await check()
    },
    { timeout: 60_000, interval: 10 },
  )
}

/** The outcome of a call, whose pauses between attempts are cut short. */
export async function awake<T>(transport: Transport, call: Promise<T>): Promise<T> {
  let isOver = false
  const over = () => {
    isOver = true
  }
  call.then(over, over)
  await until(() => {
    if (!isOver) throw new Error('The call is still under way.')
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
