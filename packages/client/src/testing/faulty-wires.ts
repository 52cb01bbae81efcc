import type { Fetch } from '../transport/http-calls.js'
import type { WebSocketConstructor, WebSocketLike } from '../transport/socket-connection.js'

/** The faults of a connection. A test may change them at any time. */
export interface WireFaults {
  /** Frames that arrive together are delivered in reverse order, and each of them twice. */
  shuffle: boolean
  /** How many of the next writes reach the gateway but get no reply. */
  lostReplies: number
}

/** A `fetch` with these faults. */
export function faultyFetch(faults: WireFaults, inner: Fetch = (input, init) => fetch(input, init)): Fetch {
  return async (input, init) => {
    const response = await inner(input, init)
    if (init?.method !== 'GET' && faults.lostReplies > 0) {
      faults.lostReplies -= 1
      await response.arrayBuffer()
      throw new TypeError('The connection was lost.')
    }
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
    if (!isStream || !response.body) return response
    const { status, headers } = response
    return new Response(response.body.pipeThrough(shuffledFrames(faults)), { status, headers })
  }
}

/** A `WebSocket` with these faults. */
export function faultyWebSocket(faults: WireFaults, Base: WebSocketConstructor): WebSocketConstructor {
  return class FaultyWebSocket implements WebSocketLike {
    readonly #socket: WebSocketLike
    /** The `ref` of each request whose reply will be lost. */
    readonly #lostRefs = new Set<unknown>()

    constructor(url: string, options?: { headers: Record<string, string> }) {
      this.#socket = options ? new Base(url, options) : new Base(url)
    }

    send(data: string): void {
      const { op, ref } = JSON.parse(data) as { op?: unknown; ref?: unknown }
      if (op === 'respond' && faults.lostReplies > 0) {
        faults.lostReplies -= 1
        this.#lostRefs.add(ref)
      }
      this.#socket.send(data)
    }

    close(): void {
      this.#socket.close()
    }

    addEventListener(type: 'open' | 'message' | 'close' | 'error', listener: (event: object) => void): void {
      if (type !== 'message') return this.#socket.addEventListener(type, listener)
      const batch: { data: unknown }[] = []
      this.#socket.addEventListener('message', (event) => {
        const data = 'data' in event ? event.data : null
        const { ref } = JSON.parse(String(data)) as { ref?: unknown }
        if (ref !== undefined && this.#lostRefs.has(ref)) return this.close()
        if (!faults.shuffle || ref !== undefined) return listener({ data })
        batch.push({ data })
        if (batch.length > 1) return
        setTimeout(() => {
          for (const event of batch
            .splice(0)
            .reverse()
            .flatMap((each) => [each, each]))
            listener(event)
        }, 0)
      })
    }
  }
}

/** Splits the stream into frames of server-sent events, which end with an empty line. */
function shuffledFrames(faults: WireFaults): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder()
  const encoder = new TextEncoder()
  let rest = ''
  return new TransformStream({
    transform(chunk, controller) {
      const frames = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
      rest = frames.pop()!
      const whole = faults.shuffle ? frames.reverse().flatMap((frame) => [frame, frame]) : frames
      const text = whole.map((frame) => `${frame}\n\n`).join('')
      if (text !== '') controller.enqueue(encoder.encode(text))
    },
    flush(controller) {
      if (rest !== '') controller.enqueue(encoder.encode(rest))
    },
  })
}
