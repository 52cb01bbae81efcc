import { describe, expect, it } from 'vitest'
import type { ChangeItem } from '../transport/transport.js'
import { question, readStream, replies, until, type ConformanceSubject } from './conformance-subject.js'

/** A stream sends the events after a position, and then new ones as they happen. */
export function streamsConform(subject: () => ConformanceSubject): void {
  /** A session without an agent, with one pending question. */
  async function sessionWithQuestion() {
    const { transport, backend } = subject()
    const { id: sessionId } = await transport.create({ agent: null })
    const asked = await backend.ask({ sessionId, kind: 'question', request: question })
    return { transport, backend, sessionId, interactionId: asked.interactionId }
  }

  describe('events', () => {
    it('are sent from the beginning, and then as they happen', async () => {
      const { transport, backend, sessionId, interactionId } = await sessionWithQuestion()
      const reader = readStream(transport, sessionId)
      await until(() => expect(reader.events).toHaveLength(4))
      expect(reader.statuses).toEqual(['live'])
      await transport.respond({ sessionId, interactionId, answer: replies })
      const log = await backend.log(sessionId)
      await until(() => expect(reader.events).toEqual(log))
      reader.stop()
      await reader.over
    })

    it('are sent from any position', async () => {
      const { transport, backend, sessionId } = await sessionWithQuestion()
      const { logId } = await transport.snapshot(sessionId)
      const log = await backend.log(sessionId)
      for (const after of [{ seq: 2, logId }, 2]) {
        const reader = readStream(transport, sessionId, after)
        await until(() => expect(reader.events).toEqual(log.slice(2)))
        reader.stop()
      }
    })

    it('are sent to every reader', async () => {
      const { transport, backend, sessionId, interactionId } = await sessionWithQuestion()
      const readers = [readStream(transport, sessionId), readStream(transport, sessionId, 3)]
      await until(() => expect(readers.map(({ events }) => events.length)).toEqual([4, 1]))
      await transport.respond({ sessionId, interactionId, answer: replies })
      const log = await backend.log(sessionId)
      await until(() => expect(readers.map(({ events }) => events)).toEqual([log, log.slice(3)]))
      readers[0]!.stop()
      await backend.ask({ sessionId, kind: 'question', request: question })
      await until(() => expect(readers[1]!.events.at(-1)?.seq).toBeGreaterThan(log.length))
      readers[1]!.stop()
    })

    it.each([
      ['past the end', { seq: 99 }],
      ['in another log', { seq: 1, logId: 'another' }],
    ])('end with a resync for a position %s', async (_name, after) => {
      const { transport, sessionId } = await sessionWithQuestion()
      const reader = readStream(transport, sessionId, after)
      await reader.over
      expect(reader.items.at(-1)).toEqual({ type: 'resync' })
      expect(reader.events).toEqual([])
    })

    it('end with not_found when the session is removed', async () => {
      const { transport, sessionId } = await sessionWithQuestion()
      const reader = readStream(transport, sessionId)
      await until(() => expect(reader.events).toHaveLength(4))
      await transport.remove(sessionId)
      await expect(reader.over).rejects.toMatchObject({ code: 'not_found' })
      expect(reader.events.at(-1)).toMatchObject({ type: 'session_status', status: 'ended' })
    })

    it('belong to the reader, which may change them', async () => {
      const { transport, backend, sessionId } = await sessionWithQuestion()
      const reader = readStream(transport, sessionId)
      await until(() => expect(reader.events).toHaveLength(4))
      for (const event of reader.events) event.at = 0
      expect((await backend.log(sessionId)).map(({ at }) => at)).not.toContain(0)
      reader.stop()
    })

    it('stop when the signal aborts, also before they began', async () => {
      const { transport, sessionId } = await sessionWithQuestion()
      const stopped = AbortSignal.abort()
      const items: unknown[] = []
      for await (const item of transport.events(sessionId, 0, stopped)) items.push(item)
      expect(items.filter((item) => (item as { type: string }).type === 'event')).toEqual([])
      for await (const item of transport.events(sessionId, 0)) if (item.type === 'event') break
    })
  })

  describe('unfinished blocks', () => {
    it('are streamed, and sent as far as they are to a reader that comes later', async () => {
      const { transport, backend } = subject()
      const { id: sessionId } = await transport.create({ agent: backend.agent })
      const reader = readStream(transport, sessionId)
      await until(() => expect(reader.statuses).toEqual(['live']))
      await transport.send(sessionId, 'go')
      await until(() => expect(reader.events.map(({ type }) => type)).toContain('agent_session'))
      const delta = { type: 'text_delta', blockId: 'b1' } as const
      backend.live(sessionId, { ...delta, text: 'Hel' })
      backend.live(sessionId, { ...delta, text: 'lo' })
      const live = () => reader.items.flatMap((item) => (item.type === 'live' ? [item.event] : []))
      await until(() =>
        expect(live()).toEqual([
          { ...delta, offset: 0, text: 'Hel' },
          { ...delta, offset: 3, text: 'lo' },
        ]),
      )
      const { seq, live: soFar } = await transport.snapshot(sessionId)
      expect(soFar).toEqual([{ ...delta, offset: 0, text: 'Hello' }])
      const late = readStream(transport, sessionId, seq)
      await until(() => expect(late.items).toContainEqual({ type: 'live', event: soFar[0] }))
      reader.stop()
      late.stop()
    })
  })

  describe('changes', () => {
    it('are the interaction and status events of every session', async () => {
      const { transport, backend, sessionId, interactionId } = await sessionWithQuestion()
      const stopping = new AbortController()
      const items: ChangeItem[] = []
      const over = (async () => {
        for await (const item of transport.changes(stopping.signal)) items.push(item)
      })()
      await until(() => expect(items).toEqual([{ type: 'connection', status: 'live' }]))
      await transport.respond({ sessionId, interactionId, answer: replies })
      const second = await transport.create({ agent: null })
      await backend.ask({ sessionId: second.id, kind: 'question', request: question })
      const received = () =>
        items.flatMap((item) => (item.type === 'event' ? [`${item.event.sessionId} ${item.event.type}`] : []))
      await until(() => {
        expect(received()).toContain(`${sessionId} interaction_response`)
        expect(received()).toContain(`${second.id} interaction_request`)
        expect(received()).toContain(`${second.id} session_status`)
      })
      stopping.abort()
      await over
    })

    it('report a deleted session', async () => {
      const { transport, sessionId } = await sessionWithQuestion()
      const stopping = new AbortController()
      const items: ChangeItem[] = []
      const over = (async () => {
        for await (const item of transport.changes(stopping.signal)) items.push(item)
      })()
      await until(() => expect(items).toEqual([{ type: 'connection', status: 'live' }]))
      await transport.remove(sessionId)
      await until(() => expect(items.at(-1)).toEqual({ type: 'gone', sessionId }))
      stopping.abort()
      await over
    })
  })
}
