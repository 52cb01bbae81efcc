import type { Fetch } from './http-calls.js'

/** Waits until everything has run that does not wait for a timer of the fake clock. */
export async function settle(): Promise<void> {
  // A timer alone may fire too early on a slow machine.
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => setTimeout(resolve, 0))
}

export interface ReceivedRequest {
  url: string
  method: string
  headers: Headers
  body: unknown
}

type FakeResponse = (
  request: ReceivedRequest,
  signal: AbortSignal | undefined,
) => Response | Promise<Response>

/** A `fetch` with a fixed response for each call, one after the other; the last one is repeated. */
export function fakeGateway(...answers: FakeResponse[]): { fetch: Fetch; received: ReceivedRequest[] } {
  const received: ReceivedRequest[] = []
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

export function json(body: unknown, status = 200, headers: Record<string, string> = {}): FakeResponse {
  return () => Response.json(body, { status, headers })
}

export function refusal(status: number, code: string, headers: Record<string, string> = {}): FakeResponse {
  return json({ error: { code, message: `It is ${code}.` } }, status, headers)
}

export const networkDown: FakeResponse = () => {
  throw new TypeError('fetch failed')
}

/** Never responds, and rejects when it is aborted. */
export const silence: FakeResponse = (_request, signal) =>
  new Promise((_resolve, reject) => {
    const abort = () => reject(new DOMException('Aborted', 'AbortError'))
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort)
  })

/** A stream of server-sent events that the test writes to. */
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
  const answer: FakeResponse = (_request, signal) => {
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
