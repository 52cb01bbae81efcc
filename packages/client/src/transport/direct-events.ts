import type { LiveEvent, SessionEvent } from '@askback/protocol'
import { AsyncQueue } from './async-queue.js'
import type { DirectHost } from './direct-host.js'
import type { ChangeItem, Cursor, StreamItem } from './transport.js'
import { endsSession, gone, Place } from './wire-items.js'

type Item = { events: SessionEvent[] } | { live: LiveEvent }

const PAGE = 500

/** A session's events from the host itself: first the log up to the head that it names, then what follows as it comes. */
export async function* directEvents(
  host: DirectHost,
  sessionId: string,
  after: Cursor,
  signal: AbortSignal,
): AsyncGenerator<StreamItem, undefined> {
  const items = new AsyncQueue<Item>()
  const stopLive = host.onLive((live) => {
    if (live.sessionId === sessionId) items.push({ live: live.event })
  })
  let isGone = false
  const { head, stop } = await host.desk.follow(sessionId, {
    advanced: ({ events }) => items.push({ events }),
    gone() {
      isGone = true
      items.fail(gone(sessionId))
    },
  })
  const end = () => items.end()
  signal.addEventListener('abort', end)
  try {
    const place = new Place(after)
    if (place.seq > head.seq || (place.logId ?? head.logId) !== head.logId) {
      yield { type: 'resync' }
      return
    }
    yield { type: 'connection', status: 'live' }
    while (place.seq < head.seq) {
      const events = await host.desk.events(sessionId, { after: place.seq, limit: PAGE })
      // If the log is still there after the read, the page came from it.
      await host.desk.refresh(sessionId)
      if (isGone || events.length === 0) throw gone(sessionId)
      yield* fresh(events, place)
    }
    for (const event of host.liveBlocks(sessionId)) yield { type: 'live', event }
    for await (const item of items) {
      if ('live' in item) {
        yield { type: 'live', event: item.live }
        continue
      }
      yield* fresh(item.events, place)
      if (item.events.some(endsSession)) throw gone(sessionId)
    }
  } finally {
    signal.removeEventListener('abort', end)
    stop()
    stopLive()
    end()
  }
}

/** What every inbox and session list needs to know, of all sessions, from now on. */
export async function* directChanges(
  host: DirectHost,
  signal: AbortSignal,
): AsyncGenerator<ChangeItem, undefined> {
  const queue = new AsyncQueue<SessionEvent>()
  const stop = await host.desk.followAll((events) => {
    for (const event of events) if (concernsAll(event)) queue.push(event)
  })
  const end = () => queue.end()
  signal.addEventListener('abort', end)
  try {
    if (signal.aborted) return
    yield { type: 'connection', status: 'live' }
    for await (const event of queue) yield { type: 'event', event }
  } finally {
    signal.removeEventListener('abort', end)
    stop()
  }
}

function* fresh(events: SessionEvent[], place: Place): Generator<StreamItem> {
  for (const event of events) if (place.take(event)) yield { type: 'event', event }
}

function concernsAll({ type }: SessionEvent): boolean {
  return type === 'session_started' || type === 'session_status' || type.startsWith('interaction_')
}
