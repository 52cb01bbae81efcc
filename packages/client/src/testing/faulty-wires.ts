import type { Fetch } from '../transport/http-calls.js'
import type { WebSocketConstructor, WebSocketLike } from '../transport/web-socket-like.js'

/** What is done to what comes over a wire; may be changed at any time. */
export interface WireFaults {
  /** What comes together comes in reverse order, and every event twice. */
  shuffle: boolean
  /** How many writes get through without their answer. */
  lostReplies: number
}

/** A `fetch` on a bad day. */
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

/** A `WebSocket` on a bad day. */
export function faultyWebSocket(faults: WireFaults, Base: WebSocketConstructor): WebSocketConstructor {
  return class FaultyWebSocket implements WebSocketLike {
    readonly #socket: WebSocketLike
    readonly #lost = new Set<unknown>()

    constructor(url: string, options?: { headers: Record<string, string> }) {
      this.#socket = options ? new Base(url, options) : new Base(url)
    }

    send(data: string): void {
      const { op, ref } = JSON.parse(data) as { op?: unknown; ref?: unknown }
      if (op === 'respond' && faults.lostReplies > 0) {
        faults.lostReplies -= 1
        this.#lost.add(ref)
      }
      this.#socket.send(data)
    }

    close(): void {
      this.#socket.close()
    }

    addEventListener(type: 'open' | 'message' | 'close' | 'error', listener: (event: object) => void): void {
      if (type !== 'message') return this.#socket.addEventListener(type, listener)
      const together: { data: unknown }[] = []
      this.#socket.addEventListener('message', (event) => {
        const data = 'data' in event ? event.data : null
        const { ref } = JSON.parse(String(data)) as { ref?: unknown }
        if (ref !== undefined && this.#lost.has(ref)) return this.close()
        if (!faults.shuffle || ref !== undefined) return listener({ data })
        together.push({ data })
        if (together.length > 1) return
        setTimeout(() => {
          for (const event of together
            .splice(0)
            .reverse()
            .flatMap((one) => [one, one]))
            listener(event)
        }, 0)
      })
    }
  }
}

/** A frame of server-sent events ends with an empty line. */
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
