import { stateToJson } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { createClient } from '../stores/client.js'
import {
  awake,
  question,
  readStream,
  replies,
  until,
  type ConformanceSubject,
  type TransportFaults,
} from './conformance-subject.js'
import type { FakeClock } from './fake-clock.js'

/** What may go wrong on the way changes nothing of what arrives. */
export function faultsConform(
  subject: () => ConformanceSubject & { faults: TransportFaults },
  clock: () => FakeClock,
): void {
  async function reading() {
    const { transport, other, backend, faults } = subject()
    const { id: sessionId } = await transport.create({ agent: null })
    const reader = readStream(transport, sessionId)
    await until(() => expect(reader.events).toHaveLength(1))
    const ask = () => backend.ask({ sessionId, kind: 'question', request: question })
    const inStep = async () => {
      const log = await backend.log(sessionId)
      await until(() => expect(reader.events).toEqual(log), transport)
    }
    return { transport, other, backend, faults, sessionId, reader, ask, inStep }
  }

  async function watching() {
    const { transport, ...rest } = await reading()
    rest.reader.stop()
    const client = createClient(transport, { clock: clock(), random: () => 0 })
    const store = client.session(rest.sessionId)
    store.subscribe(() => undefined)
    await until(() => expect(store.getSnapshot().connection).toBe('live'))
    return { transport, client, store, view: () => store.getSnapshot(), ...rest }
  }

  describe('a stream goes on where it was', () => {
    it('after its connection was lost, again and again', async () => {
      const { reader, faults, ask, inStep } = await reading()
      for (let times = 0; times < 3; times++) {
        faults.cut()
        await ask()
        await inStep()
      }
      // An attempt may still meet a connection that was lost with the others.
      const changes = reader.statuses.filter((status, at, all) => status !== all[at - 1])
      expect(changes.slice(0, 3)).toEqual(['live', 'offline', 'live'])
      reader.stop()
    })

    it('after a frame was cut in the middle', async () => {
      const { reader, faults, ask, inStep } = await reading()
      faults.cutMidFrame()
      await ask()
      await inStep()
      expect(reader.statuses).toContain('offline')
      reader.stop()
    })

    it('after the host was gone and came back', async () => {
      const { reader, faults, ask, inStep, transport } = await reading()
      await ask()
      await faults.restart()
      await until(() => expect(reader.statuses.at(-1)).toBe('live'), transport)
      await ask()
      await inStep()
      reader.stop()
    })

    it('after nothing came through for too long', async () => {
      const { reader, faults, ask, inStep } = await reading()
      faults.stall()
      await ask()
      clock().advance(44_000)
      expect(reader.statuses).toEqual(['live'])
      clock().advance(1000)
      await inStep()
      reader.stop()
    })
  })

  describe('a store has what the host has', () => {
    it('though events come twice and in another order', async () => {
      const { transport, faults, backend, sessionId, view, ask } = await watching()
      faults.shuffle(true)
      for (let times = 0; times < 5; times++) {
        const { interactionId } = await ask()
        const answer = { sessionId, interactionId, answer: replies }
        if (times === 3) faults.cut()
        if (times % 2 === 0) await awake(transport, transport.respond(answer))
      }
      const { length } = await backend.log(sessionId)
      await until(() => expect(view().state?.seq).toBe(length), transport)
      const { state } = await transport.snapshot(sessionId)
      expect(JSON.parse(JSON.stringify(stateToJson(view().state!)))).toEqual(state)
    })

    it('in the inbox too, after it was away', async () => {
      const { client, transport, faults, ask } = await watching()
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
    it('[lesson 10] though its answer was lost and it was sent again', async () => {
      const { transport, faults, backend, sessionId, ask, reader } = await reading()
      reader.stop()
      const { interactionId } = await ask()
      faults.loseNextReply()
      const settled = await awake(transport, transport.respond({ sessionId, interactionId, answer: replies }))
      expect(settled.interaction).toMatchObject({ settlement: 'answered', answer: replies })
      const log = await backend.log(sessionId)
      expect(log.filter(({ type }) => type === 'interaction_response')).toHaveLength(1)
    })

    it('a message as well', async () => {
      const { transport, faults, backend, sessionId, reader } = await reading()
      reader.stop()
      faults.loseNextReply()
      expect(await awake(transport, transport.send(sessionId, 'hello'))).toEqual({ routed: 'log' })
      const log = await backend.log(sessionId)
      expect(log.filter(({ type }) => type === 'user_message')).toHaveLength(1)
    })

    it('an answer given offline is kept and sent', async () => {
      const { client, store, transport, faults, backend, sessionId, view, ask } = await watching()
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

  describe('a credential that is no longer good', () => {
    it('ends streams and calls as unauthorized, and is not tried again', async () => {
      const { transport, faults, sessionId, reader } = await reading()
      const client = createClient(transport, { clock: clock(), random: () => 0 })
      const store = client.session(sessionId)
      store.subscribe(() => undefined)
      await until(() => expect(store.getSnapshot().connection).toBe('live'))
      await faults.revoke()
      const waking = until(() => expect(store.getSnapshot().connection).toBe('unauthorized'), transport)
      await expect(reader.over).rejects.toMatchObject({ code: 'unauthorized' })
      await waking
      await expect(transport.snapshot(sessionId)).rejects.toMatchObject({ code: 'unauthorized' })
      const answer = { sessionId, interactionId: 'any', answer: replies }
      await expect(transport.respond(answer)).rejects.toMatchObject({ code: 'unauthorized' })
    })
  })
}
