import type { EventSourceMessage } from 'eventsource-parser'
import type { Pauses } from '../pauses.js'
import { isPassing, retryAfterIn } from './http-errors.js'
import { readSse, watchdog } from './sse.js'
import type { Connection } from './transport.js'

export interface FollowOptions<T> {
  open: (signal: AbortSignal) => Promise<Response>
  /** Throws at what cannot be read: then the stream is opened anew. `null` is passed over. */
  parse: (message: EventSourceMessage) => T | null
  pauses: Pauses
  /** Without a byte for so long, the heartbeat's included, a connection is taken for dead. */
  stallMs: number
  signal: AbortSignal
}

/** Reads a stream for as long as it is wanted, through lost connections. Throws what trying again would not change. */
export async function* follow<T>(options: FollowOptions<T>): AsyncGenerator<T | Connection> {
  const { open, parse, pauses, stallMs, signal } = options
  let failures = 0
  for (;;) {
    if (signal.aborted) return
    const attempt = new AbortController()
    const abort = () => attempt.abort()
    signal.addEventListener('abort', abort)
    const dog = watchdog(pauses.clock, stallMs, abort)
    let error: unknown = new Error('The stream ended.')
    let retryMs = 0
    try {
      const response = await open(attempt.signal)
      dog.heard()
      yield { type: 'connection', status: 'live' }
      for await (const item of readSse(response, dog.heard)) {
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
      if (!isPassing(caught)) throw caught
      error = caught
      retryMs = retryAfterIn(caught)
    } finally {
      dog.stop()
      signal.removeEventListener('abort', abort)
      attempt.abort()
    }
    if (signal.aborted) return
    failures += 1
    yield { type: 'connection', status: 'offline', error }
    await pauses.before(failures, signal, retryMs)
  }
}
