import type { LiveEvent, SessionEvent } from '@askback/protocol'
import { AsyncQueue } from './async-queue.js'
import type { DirectHost } from './direct-host.js'
import type { ChangeItem, Cursor, StreamItem } from './transport.js'
import { endsSession, gone, Place } from './wire-items.js'

type Told = { events: SessionEvent[]; seq: number } | { live: LiveEvent }

const PAGE = 500

/** A session's events from the host itself: what was told in time as it comes, the rest from the log. */
export async function* directEvents(
  host: DirectHost,
  sessionId: string,
  after: Cursor,
  signal: AbortSignal,
): AsyncGenerator<StreamItem, undefined> {
  const told = listen(host, sessionId)
  const stop = () => told.end()
  signal.addEventListener('abort', stop)
  try {
    const place = new Place(after)
    const { seq, logId } = await host.snapshot(sessionId)
    if (place.seq > seq || (place.logId ?? logId) !== logId) {
      yield { type: 'resync' }
      return
    }
    yield { type: 'connection', status: 'live' }
    yield* missed(host, sessionId, place, seq)
    for (const event of host.liveBlocks(sessionId)) yield { type: 'live', event }
    for await (const news of told) {
      if ('live' in news) {
        yield { type: 'live', event: news.live }
        continue
      }
      const isNext = news.events[0] !== undefined && news.events[0].seq <= place.seq + 1
      if (isNext) yield* fresh(news.events, place)
      else yield* missed(host, sessionId, place, news.seq)
      if (news.events.some(endsSession)) throw gone(sessionId)
    }
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
  }
}

/** What every inbox and session list needs to know, of all sessions, from now on. */
export async function* directChanges(
  host: DirectHost,
  signal: AbortSignal,
): AsyncGenerator<ChangeItem, undefined> {
  const queue = new AsyncQueue<SessionEvent>(() => stop())
  const stop = host.desk.on(({ events }) => {
    for (const event of events) if (concernsAll(event)) queue.push(event)
  })
  signal.addEventListener('abort', () => queue.end())
  yield { type: 'connection', status: 'live' }
  for await (const event of queue) yield { type: 'event', event }
}

function listen(host: DirectHost, sessionId: string): AsyncQueue<Told> {
  const stops = [
    host.desk.on((appended) => {
      if (appended.sessionId === sessionId) told.push(appended)
    }),
    host.onLive((live) => {
      if (live.sessionId === sessionId) told.push({ live: live.event })
    }),
  ]
  const told = new AsyncQueue<Told>(() => {
    for (const stop of stops) stop()
  })
  return told
}

async function* missed(
  host: DirectHost,
  sessionId: string,
  place: Place,
  upTo: number,
): AsyncGenerator<StreamItem> {
  while (place.seq < upTo) {
    const events = await host.desk.events(sessionId, { after: place.seq, limit: PAGE })
    if (events.length === 0) throw gone(sessionId)
    yield* fresh(events, place)
  }
}

function* fresh(events: SessionEvent[], place: Place): Generator<StreamItem> {
  for (const event of events) if (place.take(event)) yield { type: 'event', event }
}

function concernsAll({ type }: SessionEvent): boolean {
  return type === 'session_started' || type === 'session_status' || type.startsWith('interaction_')
}
