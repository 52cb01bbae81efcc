import { describe, expect, it } from 'vitest'
import { approveTool, denyTool, submitAnswers } from '../stores/tool-answers.js'
import { form, question, replies, type ConformanceSubject } from './conformance-subject.js'

/** Each call of a transport does what it says. */
export function callsConform(subject: () => ConformanceSubject): void {
  /** A session without an agent. */
  async function outsideSession() {
    const { transport, other, backend } = subject()
    const { id: sessionId } = await transport.create({ agent: null, title: 'Outside' })
    return { transport, other, backend, sessionId }
  }

  describe('calls', () => {
    it('list agents, create a session and find it again', async () => {
      const { transport, backend } = subject()
      expect(await transport.agents()).toEqual([
        expect.objectContaining({ id: backend.agent, available: true }),
      ])
      const made = await transport.create({ agent: backend.agent, title: 'New', permissionMode: 'plan' })
      expect(made).toMatchObject({
        agent: backend.agent,
        title: 'New',
        permissionMode: 'plan',
        status: 'idle',
      })
      const { sessions, next } = await transport.sessions()
      expect(sessions.map(({ id }) => id)).toContain(made.id)
      expect(next).toBeNull()
    })

    it('list sessions page by page', async () => {
      const { transport } = subject()
      for (const title of ['one', 'two', 'three']) await transport.create({ agent: null, title })
      const first = await transport.sessions({ limit: 2 })
      expect(first.sessions.map(({ title }) => title)).toEqual(['three', 'two'])
      const second = await transport.sessions({ limit: 2, after: first.next! })
      expect(second).toMatchObject({ sessions: [{ title: 'one' }], next: null })
    })

    it('create one session for one idempotency key', async () => {
      const { transport } = subject()
      const options = { idempotencyKey: 'once' }
      const made = await transport.create({ agent: null }, options)
      expect((await transport.create({ agent: null }, options)).id).toBe(made.id)
      const error = { code: 'idempotency_mismatch' }
      await expect(transport.create({ agent: null, title: 'x' }, options)).rejects.toMatchObject(error)
    })

    it('return a snapshot of plain data that the caller may change', async () => {
      const { transport, backend, sessionId } = await outsideSession()
      await backend.ask({ sessionId, kind: 'question', request: question })
      const snapshot = await transport.snapshot(sessionId)
      expect(snapshot).toMatchObject({ session: { id: sessionId, status: 'waiting' }, live: [], seq: 4 })
      expect(snapshot.logId).toBe(snapshot.state.logId)
      expect(JSON.parse(JSON.stringify(snapshot))).toEqual(snapshot)
      snapshot.state.pending[0]!.request = null
      snapshot.state.turns.length = 0
      const again = await transport.snapshot(sessionId)
      expect(again.state.pending[0]?.request).toEqual(question)
      expect(again.state.turns).toHaveLength(1)
    })

    it('page through the log in both directions', async () => {
      const { transport, backend, sessionId } = await outsideSession()
      for (const n of [1, 2])
        await backend.ask({ sessionId, kind: 'form', request: { ...form, message: `${n}` } })
      const log = await backend.log(sessionId)
      const seqs = ({ events }: { events: { seq: number }[] }) => events.map(({ seq }) => seq)
      expect(await transport.history(sessionId)).toEqual({ events: log, next: null })
      const first = await transport.history(sessionId, { limit: 2 })
      expect([seqs(first), first.next]).toEqual([[1, 2], 2])
      expect(seqs(await transport.history(sessionId, { after: 2, limit: 2 }))).toEqual([3, 4])
      const last = await transport.history(sessionId, { before: log.length + 1, limit: 2 })
      expect([seqs(last), last.next]).toEqual([[log.length - 1, log.length], log.length - 1])
      expect(await transport.history(sessionId, { before: 3, limit: 2 })).toMatchObject({ next: null })
    })

    it('send a message to what is pending, or to the log of a session without an agent, and say which', async () => {
      const { transport, backend, sessionId } = await outsideSession()
      expect(await transport.send(sessionId, 'hello')).toEqual({ routed: 'log' })
      const { interactionId } = await backend.ask({ sessionId, kind: 'approval', request: { input: 1 } })
      expect(await transport.send(sessionId, { text: 'not that', route: 'interaction' })).toEqual({
        routed: 'interaction',
        interactionId,
      })
      const log = await backend.log(sessionId)
      expect(log.filter(({ type }) => type === 'user_message')).toMatchObject([{ text: 'hello' }])
      expect(log).toContainEqual(expect.objectContaining({ settlement: 'denied', message: 'not that' }))
    })

    it('settle an interaction, and return it with the appended events', async () => {
      const { transport, backend, sessionId } = await outsideSession()
      const { interactionId, digest } = await backend.ask({ sessionId, kind: 'question', request: question })
      const settled = await transport.respond({ sessionId, interactionId, answer: replies, digest })
      expect(settled.interaction).toMatchObject({ interactionId, settlement: 'answered', answer: replies })
      const log = await backend.log(sessionId)
      expect(settled.events).toEqual(log.slice(-settled.events.length))
      expect(settled.events[0]).toMatchObject({
        type: 'interaction_response',
        by: { id: expect.any(String) as string },
      })
    })

    it('answer by tool call', async () => {
      const { transport, backend, sessionId } = await outsideSession()
      const asked = await backend.ask({ sessionId, kind: 'question', request: question, toolCallId: 'c1' })
      const { interaction } = await submitAnswers(
        transport,
        { sessionId, toolCallId: 'c1' },
        { 0: 'Oracle', 1: ['c'] },
      )
      expect(interaction).toMatchObject({
        interactionId: asked.interactionId,
        answer: { answers: [{ selected: [], other: 'Oracle' }, { selected: ['c'] }] },
      })
      await backend.ask({ sessionId, kind: 'approval', request: { input: { a: 1 } }, toolCallId: 'c2' })
      const approved = await approveTool(
        transport,
        { sessionId, toolCallId: 'c2' },
        { updatedInput: { a: 2 } },
      )
      expect(approved.interaction).toMatchObject({
        settlement: 'approved',
        answer: { updatedInput: { a: 2 } },
      })
      const third = await backend.ask({
        sessionId,
        kind: 'approval',
        request: { input: 3 },
        toolCallId: 'c3',
      })
      expect((await denyTool(transport, third, 'no')).interaction).toMatchObject({
        settlement: 'denied',
        message: 'no',
      })
    })

    it('answer by tool call in the format of the route: several options as a JSON array in a string', async () => {
      const { transport, backend, sessionId } = await outsideSession()
      await backend.ask({ sessionId, kind: 'question', request: question, toolCallId: 'c1' })
      const target = { sessionId, toolCallId: 'c1' }
      const { interaction } = await submitAnswers(transport, target, { 0: 'SQLite', 1: '["c","of my own"]' })
      expect(interaction).toMatchObject({
        answer: { answers: [{ selected: ['SQLite'] }, { selected: ['c'], other: 'of my own' }] },
      })
    })

    it('cancel an interaction', async () => {
      const { transport, backend, sessionId } = await outsideSession()
      const { interactionId } = await backend.ask({ sessionId, kind: 'question', request: question })
      expect(await transport.cancel(sessionId, interactionId)).toMatchObject({ settlement: 'cancelled' })
    })

    it('interrupt and clear, which cancel what is pending', async () => {
      const { transport, backend, sessionId } = await outsideSession()
      await backend.ask({ sessionId, kind: 'question', request: question })
      await transport.interrupt(sessionId)
      expect((await transport.snapshot(sessionId)).state.pending).toEqual([])
      await backend.ask({ sessionId, kind: 'question', request: question })
      await transport.clear(sessionId)
      expect((await transport.snapshot(sessionId)).state.pending).toEqual([])
      expect((await backend.log(sessionId)).at(-1)?.type).toMatch(/context_cleared|session_status/)
    })

    it('set the permission mode, in the name of the person', async () => {
      const { transport, backend, sessionId } = await outsideSession()
      await transport.setPermissionMode(sessionId, 'acceptEdits')
      expect((await transport.snapshot(sessionId)).session.permissionMode).toBe('acceptEdits')
      expect((await backend.log(sessionId)).at(-1)).toMatchObject({
        type: 'session_status',
        by: { id: expect.any(String) as string },
        via: expect.stringMatching(/^(http|web|direct)$/) as string,
      })
    })

    it('list the inbox over all sessions, oldest first', async () => {
      const { transport, backend, sessionId } = await outsideSession()
      const second = await transport.create({ agent: null })
      const one = await backend.ask({ sessionId, kind: 'question', request: question })
      const two = await backend.ask({ sessionId: second.id, kind: 'form', request: form })
      const { interactions } = await transport.inbox()
      expect(interactions.map(({ interactionId }) => interactionId)).toEqual([
        one.interactionId,
        two.interactionId,
      ])
      const first = await transport.inbox({ limit: 1 })
      expect(first).toMatchObject({ total: 2, perSession: { [sessionId]: 1, [second.id]: 1 } })
      expect((await transport.inbox({ limit: 1, after: first.next! })).interactions).toMatchObject([
        { interactionId: two.interactionId },
      ])
    })

    it('remove a session', async () => {
      const { transport, sessionId } = await outsideSession()
      await transport.remove(sessionId)
      await expect(transport.snapshot(sessionId)).rejects.toMatchObject({ code: 'not_found' })
    })
  })
}
