import { describe, expect, it } from 'vitest'
import { approveTool, denyTool, submitAnswers } from '../stores/tool-answers.js'
import { form, question, replies, type ConformanceSubject } from './conformance-subject.js'

/** Every call, and that it does what it says. */
export function callsConform(subject: () => ConformanceSubject): void {
  async function outside() {
    const { transport, other, backend } = subject()
    const { id: sessionId } = await transport.create({ agent: null, title: 'Outside' })
    return { transport, other, backend, sessionId }
  }

  describe('calls', () => {
    it('lists agents, makes a session and finds it again', async () => {
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

    it('lists page by page', async () => {
      const { transport } = subject()
      for (const title of ['one', 'two', 'three']) await transport.create({ agent: null, title })
      const first = await transport.sessions({ limit: 2 })
      expect(first.sessions.map(({ title }) => title)).toEqual(['three', 'two'])
      const second = await transport.sessions({ limit: 2, after: first.next! })
      expect(second).toMatchObject({ sessions: [{ title: 'one' }], next: null })
    })

    it('makes one session for one key', async () => {
      const { transport } = subject()
      const options = { idempotencyKey: 'once' }
      const made = await transport.create({ agent: null }, options)
      expect((await transport.create({ agent: null }, options)).id).toBe(made.id)
      const error = { code: 'idempotency_mismatch' }
      await expect(transport.create({ agent: null, title: 'x' }, options)).rejects.toMatchObject(error)
    })

    it('gives a snapshot that is plain data and nobody else’s', async () => {
      const { transport, backend, sessionId } = await outside()
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

    it('pages through the log in both directions', async () => {
      const { transport, backend, sessionId } = await outside()
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

    it('sends a message to the log of a session without an agent, or to what is pending, and says which', async () => {
      const { transport, backend, sessionId } = await outside()
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

    it('settles, and gives back the interaction and what was appended', async () => {
      const { transport, backend, sessionId } = await outside()
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

    it('answers by tool call', async () => {
      const { transport, backend, sessionId } = await outside()
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

    it('answers by tool call as the route takes it: several choices as a JSON array in a string', async () => {
      const { transport, backend, sessionId } = await outside()
      await backend.ask({ sessionId, kind: 'question', request: question, toolCallId: 'c1' })
      const target = { sessionId, toolCallId: 'c1' }
      const { interaction } = await submitAnswers(transport, target, { 0: 'SQLite', 1: '["c","of my own"]' })
      expect(interaction).toMatchObject({
        answer: { answers: [{ selected: ['SQLite'] }, { selected: ['c'], other: 'of my own' }] },
      })
    })

    it('cancels', async () => {
      const { transport, backend, sessionId } = await outside()
      const { interactionId } = await backend.ask({ sessionId, kind: 'question', request: question })
      expect(await transport.cancel(sessionId, interactionId)).toMatchObject({ settlement: 'cancelled' })
    })

    it('interrupts and clears, which cancels what is pending', async () => {
      const { transport, backend, sessionId } = await outside()
      await backend.ask({ sessionId, kind: 'question', request: question })
      await transport.interrupt(sessionId)
      expect((await transport.snapshot(sessionId)).state.pending).toEqual([])
      await backend.ask({ sessionId, kind: 'question', request: question })
      await transport.clear(sessionId)
      expect((await transport.snapshot(sessionId)).state.pending).toEqual([])
      expect((await backend.log(sessionId)).at(-1)?.type).toMatch(/context_cleared|session_status/)
    })

    it('sets the permission mode, in the name of its person', async () => {
      const { transport, backend, sessionId } = await outside()
      await transport.setPermissionMode(sessionId, 'acceptEdits')
      expect((await transport.snapshot(sessionId)).session.permissionMode).toBe('acceptEdits')
      expect((await backend.log(sessionId)).at(-1)).toMatchObject({
        type: 'session_status',
        by: { id: expect.any(String) as string },
        via: expect.stringMatching(/^(http|web|direct)$/) as string,
      })
    })

    it('shows the inbox over all sessions, oldest first', async () => {
      const { transport, backend, sessionId } = await outside()
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

    it('removes a session', async () => {
      const { transport, sessionId } = await outside()
      await transport.remove(sessionId)
      await expect(transport.snapshot(sessionId)).rejects.toMatchObject({ code: 'not_found' })
    })
  })
}
