import { AskbackError, type SessionEvent } from '@askback/protocol'
import type { StreamItem } from '../transport/transport.js'

/** The durable events of a stream, each once and in the order of the log. A stream may bring an event twice or early. */
export async function* eventsInOrder(
  items: AsyncIterable<StreamItem>,
  { sessionId, after }: { sessionId: string; after: number },
): AsyncGenerator<SessionEvent, undefined> {
  const early = new Map<number, SessionEvent>()
  let seq = after
  for await (const item of items) {
    if (item.type === 'resync')
      throw new AskbackError('not_found', `The log of the session ${sessionId} has no event ${after}.`)
    if (item.type !== 'event' || item.event.seq <= seq) continue
    early.set(item.event.seq, item.event)
    for (let next = early.get(seq + 1); next; next = early.get(seq + 1)) {
      seq += 1
      early.delete(seq)
      yield next
    }
  }
}
