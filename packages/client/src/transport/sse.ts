import { createParser, type EventSourceMessage } from 'eventsource-parser'
import type { Clock } from '../clock.js'

export type SseItem = EventSourceMessage | { retryMs: number } | 'heartbeat'

/** Reads a stream of server-sent events. A frame that was cut off in the middle is not told. */
export async function* readSse(response: Response, heard: () => void): AsyncGenerator<SseItem> {
  if (!response.body) throw new Error('The response has no body.')
  const items: SseItem[] = []
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
      heard()
      parser.feed(decoder.decode(value, { stream: true }))
      yield* items.splice(0)
    }
  } finally {
    reader.cancel().catch(() => undefined)
  }
}

/** Calls `stalled` when nothing was heard for so long. Also true after a sleep, which timers do not see. */
export function watchdog(
  clock: Clock,
  ms: number,
  stalled: () => void,
): { heard: () => void; stop: () => void } {
  let last = clock.now()
  let disarm = arm()

  function arm(): () => void {
    return clock.alarm(last + ms, () => {
      if (clock.now() - last >= ms) stalled()
      else disarm = arm()
    })
  }

  return {
    heard() {
      last = clock.now()
    },
    stop: () => disarm(),
  }
}
