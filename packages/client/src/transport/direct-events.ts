import { AsyncQueue, type LiveEvent, type SessionEvent } from '@askback/protocol'
import type { DirectDesk, DirectHost } from './direct-host.js'
import { endsSession, sessionNotFound, StreamPosition } from './stream-items.js'
import type { ChangeItem, Cursor, StreamItem } from './transport.js'

type QueuedItem = { events: SessionEvent[] } | { live: LiveEvent }

const PAGE_SIZE = 500

/**
 * The events of a session, from the host itself. It begins to follow first, then reads the log up to the head that `follow`
 * returned, then passes on what the follower has queued: so no event is missed in between.
 */
export async function* directEvents(
  host: Pick<DirectHost, 'liveBlocks' | 'onLive'> & {
    desk: Pick<DirectDesk, 'events' | 'follow' | 'refresh'>
  },
  sessionId: string,
  after: Cursor,
  signal: AbortSignal,
): AsyncGenerator<StreamItem, undefined> {
  const items = new AsyncQueue<QueuedItem>()
  const stopLive = host.onLive((live) => {
    if (live.sessionId === sessionId) items.push({ live: live.event })
  })
  let isGone = false
  const { head, stop } = await host.desk.follow(sessionId, {
    advanced: ({ events }) => items.push({ events }),
    gone() {
      isGone = true
      items.fail(sessionNotFound(sessionId))
    },
  })
  const end = () => items.end()
  signal.addEventListener('abort', end)
  // It may have been aborted while the desk was asked.
  if (signal.aborted) end()
  try {
    const position = new StreamPosition(after)
    if (position.seq > head.seq || (position.logId ?? head.logId) !== head.logId) {
      yield { type: 'resync' }
      return
    }
    yield { type: 'connection', status: 'live' }
    while (position.seq < head.seq) {
      const events = await host.desk.events(sessionId, { after: position.seq, limit: PAGE_SIZE })
      // The session may have been deleted and created again. If its log still exists after the read, the page is from it.
      await host.desk.refresh(sessionId)
      if (isGone || events.length === 0) throw sessionNotFound(sessionId)
      yield* newEvents(events, position)
    }
    for (const event of host.liveBlocks(sessionId)) yield { type: 'live', event }
    for await (const item of items) {
      if ('live' in item) {
        yield { type: 'live', event: item.live }
        continue
      }
      yield* newEvents(item.events, position)
      if (item.events.some(endsSession)) throw sessionNotFound(sessionId)
    }
  } finally {
    signal.removeEventListener('abort', end)
    stop()
    stopLive()
    end()
  }
}

/** The events of all sessions that inboxes and session lists need, from now on. */
export async function* directChanges(
  desk: Pick<DirectDesk, 'followAll'>,
  signal: AbortSignal,
): AsyncGenerator<ChangeItem, undefined> {
  const queue = new AsyncQueue<ChangeItem>()
  const stop = await desk.followAll(
    (events) => {
      for (const event of events) if (isForLists(event)) queue.push({ type: 'event', event })
    },
    (sessionId) => queue.push({ type: 'gone', sessionId }),
  )
  const end = () => queue.end()
  signal.addEventListener('abort', end)
  try {
    if (signal.aborted) return
    yield { type: 'connection', status: 'live' }
    yield* queue
  } finally {
    signal.removeEventListener('abort', end)
    stop()
  }
}

function* newEvents(events: SessionEvent[], position: StreamPosition): Generator<StreamItem> {
  for (const event of events) if (position.advance(event)) yield { type: 'event', event }
}

function isForLists({ type }: SessionEvent): boolean {
  return type === 'session_started' || type === 'session_status' || type.startsWith('interaction_')
}
