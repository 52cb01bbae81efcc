import { stateToJson } from '@askback/protocol'
import type { FakeClock } from '@askback/protocol/testing'
import { describe, expect, it } from 'vitest'
import { createClient } from '../stores/client.js'
import {
  question,
  readStream,
  replies,
  until,
  withoutBackoff,
  type ConformanceSubject,
  type TransportFaults,
} from './conformance-subject.js'

/** Whatever goes wrong between client and host, everything arrives once and in order. */
export function faultsConform(
  subject: () => ConformanceSubject & { faults: TransportFaults },
  clock: () => FakeClock,
): void {
  /** A session whose events are read over the transport. */
  async function startReading() {
    const { transport, other, backend, faults } = subject()
    const { id: sessionId } = await transport.create({ agent: null })
    const reader = readStream(transport, sessionId)
    await until(() => expect(reader.events).toHaveLength(1))
    const ask = () => backend.ask({ sessionId, kind: 'question', request: question })
    const hasWholeLog = async () => {
      const log = await backend.log(sessionId)
      await until(() => expect(reader.events).toEqual(log), transport)
    }
    return { transport, other, backend, faults, sessionId, reader, ask, hasWholeLog }
  }

  /** A session that a client's store keeps up to date. */
  async function startWatching() {
    const { transport, ...rest } = await startReading()
    rest.reader.stop()
    const client = createClient(transport, { clock: clock(), random: () => 0 })
    const store = client.session(rest.sessionId)
    store.subscribe(() => undefined)
    await until(() => expect(store.getSnapshot().connection).toBe('live'))
    return { transport, client, store, view: () => store.getSnapshot(), ...rest }
  }

  describe('a stream continues at its position', () => {
    it('after its connection was lost, again and again', async () => {
      const { reader, faults, ask, hasWholeLog } = await startReading()
      for (let times = 0; times < 3; times++) {
        faults.cut()
        await ask()
        await hasWholeLog()
      }
      // An attempt may be made on a connection that was cut with the others, and add another pair.
      const changes = reader.statuses.filter((status, at, all) => status !== all[at - 1])
      expect(changes.slice(0, 3)).toEqual(['live', 'offline', 'live'])
      reader.stop()
    })

    it('after a frame was cut in the middle', async () => {
      const { reader, faults, ask, hasWholeLog } = await startReading()
      faults.cutMidFrame()
      await ask()
      await hasWholeLog()
      expect(reader.statuses).toContain('offline')
      reader.stop()
    })

    it('after the host was restarted', async () => {
      const { reader, faults, ask, hasWholeLog, transport } = await startReading()
      await ask()
      await faults.restart()
      await until(() => expect(reader.statuses.at(-1)).toBe('live'), transport)
      await ask()
      await hasWholeLog()
      reader.stop()
    })

    it('after nothing was received for too long', async () => {
      const { reader, faults, ask, hasWholeLog } = await startReading()
      faults.stall()
      await ask()
      clock().advance(44_000)
      expect(reader.statuses).toEqual(['live'])
      clock().advance(1000)
      await hasWholeLog()
      reader.stop()
    })
  })

  describe('a store has the state of the host', () => {
    it('although events arrive twice and in another order', async () => {
      const { transport, faults, backend, sessionId, view, ask } = await startWatching()
      faults.shuffle(true)
      for (let times = 0; times < 5; times++) {
        const { interactionId } = await ask()
        const answer = { sessionId, interactionId, answer: replies }
        if (times === 3) faults.cut()
        if (times % 2 === 0) await withoutBackoff(transport, transport.respond(answer))
      }
      const { length } = await backend.log(sessionId)
      await until(() => expect(view().state?.seq).toBe(length), transport)
      const { state } = await transport.snapshot(sessionId)
      expect(JSON.parse(JSON.stringify(stateToJson(view().state!)))).toEqual(state)
    })

    it('and the inbox as well, after it was offline', async () => {
      const { client, transport, faults, ask } = await startWatching()
      const { inbox } = client
      inbox.subscribe(() => undefined)
      const ids = () => inbox.getSnapshot().items?.map(({ interactionId }) => interactionId)
      await until(() => expect(ids()).toEqual([]))
      faults.offline()
      await until(() => expect(inbox.getSnapshot().connection).toBe('offline'))
      const { interactionId } = await ask()
      faults.online()
      await until(() => expect(ids()).toEqual([interactionId]), transport)
    })
  })

  describe('a write counts once', () => {
    it('although its reply was lost and it was sent again', async () => {
      const { transport, faults, backend, sessionId, ask, reader } = await startReading()
      reader.stop()
      const { interactionId } = await ask()
      faults.loseNextReply()
      const settled = await withoutBackoff(
        transport,
        transport.respond({ sessionId, interactionId, answer: replies }),
      )
      expect(settled.interaction).toMatchObject({ settlement: 'answered', answer: replies })
      const log = await backend.log(sessionId)
      expect(log.filter(({ type }) => type === 'interaction_response')).toHaveLength(1)
    })

    it('and so does a message', async () => {
      const { transport, faults, backend, sessionId, reader } = await startReading()
      reader.stop()
      faults.loseNextReply()
      expect(await withoutBackoff(transport, transport.send(sessionId, 'hello'))).toEqual({ routed: 'log' })
      const log = await backend.log(sessionId)
      expect(log.filter(({ type }) => type === 'user_message')).toHaveLength(1)
    })

    it('and an answer given offline is queued and sent', async () => {
      const { client, store, transport, faults, backend, sessionId, view, ask } = await startWatching()
      const { interactionId } = await ask()
      await until(() => expect(view().state?.pendingIds.size).toBe(1))
      faults.offline()
      const answering = store.respond(interactionId, replies)
      await until(() => expect(view().submissions.get(interactionId)?.status).toBe('queued'), transport)
      faults.online()
      await until(() => {
        client.reconnect()
        expect(view().submissions.size).toBe(0)
      }, transport)
      expect(await answering).toMatchObject({ ok: true })
      const log = await backend.log(sessionId)
      expect(log.filter(({ type }) => type === 'interaction_response')).toHaveLength(1)
    })
  })

  describe('a revoked credential', () => {
    it('ends streams and calls as unauthorized, without another attempt', async () => {
      const { transport, faults, sessionId, reader } = await startReading()
      const client = createClient(transport, { clock: clock(), random: () => 0 })
      const store = client.session(sessionId)
      store.subscribe(() => undefined)
      await until(() => expect(store.getSnapshot().connection).toBe('live'))
      await faults.revoke()
      const storeEnded = until(() => expect(store.getSnapshot().connection).toBe('unauthorized'), transport)
      await expect(reader.over).rejects.toMatchObject({ code: 'unauthorized' })
      await storeEnded
      await expect(transport.snapshot(sessionId)).rejects.toMatchObject({ code: 'unauthorized' })
      const answer = { sessionId, interactionId: 'any', answer: replies }
      await expect(transport.respond(answer)).rejects.toMatchObject({ code: 'unauthorized' })
    })
  })
}
