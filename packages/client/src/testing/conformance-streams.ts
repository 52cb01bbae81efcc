import { describe, expect, it } from 'vitest'
import type { ChangeItem } from '../transport/transport.js'
import { question, readStream, replies, until, type ConformanceSubject } from './conformance-subject.js'

/** Events come from any place on, and then as they happen. */
export function streamsConform(subject: () => ConformanceSubject): void {
  async function asking() {
    const { transport, backend } = subject()
    const { id: sessionId } = await transport.create({ agent: null })
    const asked = await backend.ask({ sessionId, kind: 'question', request: question })
    return { transport, backend, sessionId, interactionId: asked.interactionId }
  }

  describe('events', () => {
    it('come from the beginning, and then as they happen', async () => {
      const { transport, backend, sessionId, interactionId } = await asking()
      const reader = readStream(transport, sessionId)
      await until(() => expect(reader.events).toHaveLength(4))
      expect(reader.statuses).toEqual(['live'])
      await transport.respond({ sessionId, interactionId, answer: replies })
      const log = await backend.log(sessionId)
      await until(() => expect(reader.events).toEqual(log))
      reader.stop()
      await reader.over
    })

    it('come from any place on', async () => {
      const { transport, backend, sessionId } = await asking()
      const { logId } = await transport.snapshot(sessionId)
      const log = await backend.log(sessionId)
      for (const after of [{ seq: 2, logId }, 2]) {
        const reader = readStream(transport, sessionId, after)
        await until(() => expect(reader.events).toEqual(log.slice(2)))
        reader.stop()
      }
    })

    it('go to everyone who reads', async () => {
      const { transport, backend, sessionId, interactionId } = await asking()
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
      ['a place past the end', { seq: 99 }],
      ['a place in another log', { seq: 1, logId: 'another' }],
    ])('%s gets a resync, and the stream is over', async (_name, after) => {
      const { transport, sessionId } = await asking()
      const reader = readStream(transport, sessionId, after)
      await reader.over
      expect(reader.items.at(-1)).toEqual({ type: 'resync' })
      expect(reader.events).toEqual([])
    })

    it('tell of the end of a session', async () => {
      const { transport, sessionId } = await asking()
      const reader = readStream(transport, sessionId)
      await until(() => expect(reader.events).toHaveLength(4))
      await transport.remove(sessionId)
      await expect(reader.over).rejects.toMatchObject({ code: 'not_found' })
      expect(reader.events.at(-1)).toMatchObject({ type: 'session_status', status: 'ended' })
    })

    it('that are read are the reader’s own', async () => {
      const { transport, backend, sessionId } = await asking()
      const reader = readStream(transport, sessionId)
      await until(() => expect(reader.events).toHaveLength(4))
      for (const event of reader.events) event.at = 0
      expect((await backend.log(sessionId)).map(({ at }) => at)).not.toContain(0)
      reader.stop()
    })

    it('stop when they are aborted, also before they began', async () => {
      const { transport, sessionId } = await asking()
      const stopped = AbortSignal.abort()
      const items: unknown[] = []
      for await (const item of transport.events(sessionId, 0, stopped)) items.push(item)
      expect(items.filter((item) => (item as { type: string }).type === 'event')).toEqual([])
      for await (const item of transport.events(sessionId, 0)) if (item.type === 'event') break
    })
  })

  describe('blocks that are being made', () => {
    it('are streamed, and told so far to whoever comes later', async () => {
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
    it('tell of interactions and status in every session', async () => {
      const { transport, backend, sessionId, interactionId } = await asking()
      const stopping = new AbortController()
      const items: ChangeItem[] = []
      const over = (async () => {
        for await (const item of transport.changes(stopping.signal)) items.push(item)
      })()
      await until(() => expect(items).toEqual([{ type: 'connection', status: 'live' }]))
      await transport.respond({ sessionId, interactionId, answer: replies })
      const second = await transport.create({ agent: null })
      await backend.ask({ sessionId: second.id, kind: 'question', request: question })
      const told = () =>
        items.flatMap((item) => (item.type === 'event' ? [`${item.event.sessionId} ${item.event.type}`] : []))
      await until(() => {
        expect(told()).toContain(`${sessionId} interaction_response`)
        expect(told()).toContain(`${second.id} interaction_request`)
        expect(told()).toContain(`${second.id} session_status`)
      })
      stopping.abort()
      await over
    })
  })
}
