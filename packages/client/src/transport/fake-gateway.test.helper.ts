import type { Fetch } from './http-calls.js'

/** Everything that does not wait for time to pass has happened. */
export async function quiet(): Promise<void> {
  // A timer alone may come first where the machine is slow.
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => setTimeout(resolve, 0))
}

export interface Received {
  url: string
  method: string
  headers: Headers
  body: unknown
}

type Answer = (request: Received, signal: AbortSignal | undefined) => Response | Promise<Response>

/** A `fetch` that a test answers by itself, one call after the other; the last answer stays. */
export function fakeGateway(...answers: Answer[]): { fetch: Fetch; received: Received[] } {
  const received: Received[] = []
  return {
    received,
    async fetch(url, init = {}) {
      const body: unknown = typeof init.body === 'string' ? JSON.parse(init.body) : undefined
      const request = { url, method: init.method ?? 'GET', headers: new Headers(init.headers), body }
      const answer = answers[Math.min(received.length, answers.length - 1)]!
      received.push(request)
      return answer(request, init.signal ?? undefined)
    },
  }
}

export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Answer {
  return () => Response.json(body, { status, headers })
}

export function refusal(status: number, code: string, headers: Record<string, string> = {}): Answer {
  return json({ error: { code, message: `It is ${code}.` } }, status, headers)
}

export const networkDown: Answer = () => {
  throw new TypeError('fetch failed')
}

/** Never answers; gives up when it is told to. */
export const silence: Answer = (_request, signal) =>
  new Promise((_resolve, reject) => {
    const abort = () => reject(new DOMException('Aborted', 'AbortError'))
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort)
  })

/** A stream of server-sent events that the test writes. */
export function stream() {
  let controller: ReadableStreamDefaultController<Uint8Array>
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given
    },
    cancel() {
      isCancelled = true
    },
  })
  const encoder = new TextEncoder()
  const answer: Answer = (_request, signal) => {
    signal?.addEventListener('abort', () => {
      if (!isCancelled) controller.error(new DOMException('Aborted', 'AbortError'))
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
  return {
    answer,
    write: (text: string) => controller.enqueue(encoder.encode(text)),
    end: () => controller.close(),
    fail: () => controller.error(new TypeError('terminated')),
  }
}
