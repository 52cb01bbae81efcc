/**
 * Reads a stream of server-sent events over any number of connections. When a connection is lost, stalls or brings something
 * unreadable, it waits with backoff and opens the next one; the caller's `open` asks for the events after its position.
 *
 *   connect ──▶ live ──(ended, stalled, unreadable)──▶ offline ──(backoff)──▶ connect
 *      └──(refused: trying again would not help)──▶ throws
 */
import { retryAfterMsIn, type Backoff } from '@askback/protocol'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { isRetryable } from './gateway-errors.js'
import type { ConnectionChange } from './transport.js'
import { watchdog } from './watchdog.js'

export interface HttpStreamOptions<T> {
  open: (signal: AbortSignal) => Promise<Response>
  /** Throws if a message cannot be read; then the stream is opened again. Messages for which it returns `null` are skipped. */
  parse: (message: EventSourceMessage) => T | null
  backoff: Backoff
  /** A connection that brings nothing for this many milliseconds, not even a heartbeat, is given up. */
  stallMs: number
  signal: AbortSignal
}

/** Yields the parsed messages and the changes of the connection, until `signal` aborts. */
export async function* readHttpStream<T>(
  options: HttpStreamOptions<T>,
): AsyncGenerator<T | ConnectionChange> {
  const { open, parse, backoff, stallMs, signal } = options
  let failures = 0
  for (;;) {
    if (signal.aborted) return
    const attempt = new AbortController()
    const abort = () => attempt.abort()
    signal.addEventListener('abort', abort)
    const stallTimer = watchdog(backoff.clock, stallMs, abort)
    let error: unknown = new Error('The stream ended.')
    let retryMs = 0
    try {
      const response = await open(attempt.signal)
      stallTimer.received()
      yield { type: 'connection', status: 'live' }
      for await (const item of readServerSentEvents(response, stallTimer.received)) {
        failures = 0
        if (item === 'heartbeat') continue
        if ('retryMs' in item) {
          retryMs = item.retryMs
          continue
        }
        const parsed = parse(item)
        if (parsed !== null) yield parsed
      }
    } catch (caught) {
      if (!isRetryable(caught)) throw caught
      error = caught
      retryMs = retryAfterMsIn(caught) ?? 0
    } finally {
      stallTimer.stop()
      signal.removeEventListener('abort', abort)
      attempt.abort()
    }
    if (signal.aborted) return
    failures += 1
    yield { type: 'connection', status: 'offline', error }
    await backoff.wait(failures, signal, retryMs)
  }
}

type ServerSentItem = EventSourceMessage | { retryMs: number } | 'heartbeat'

/** The messages of one response. A message that was cut off in the middle is dropped. */
async function* readServerSentEvents(
  response: Response,
  onReceived: () => void,
): AsyncGenerator<ServerSentItem> {
  if (!response.body) throw new Error('The response has no body.')
  const items: ServerSentItem[] = []
  const parser = createParser({
    onEvent: (message) => items.push(message),
    onRetry: (retryMs) => items.push({ retryMs }),
    onComment: () => items.push('heartbeat'),
  })
  const decoder = new TextDecoder()
  const reader = response.body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      onReceived()
      parser.feed(decoder.decode(value, { stream: true }))
      yield* items.splice(0)
    }
  } finally {
    // Rejects if the connection is broken, which is why we are here.
    reader.cancel().catch(() => undefined)
  }
}
