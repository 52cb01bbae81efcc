import { AskbackError } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { approveTool, denyTool, submitAnswers } from '../stores/tool-answers.js'
import { form, question, readStream, replies, type ConformanceSubject } from './conformance-subject.js'

/** What is refused is refused in the same words everywhere. */
export function errorsConform(subject: () => ConformanceSubject): void {
  async function asking(kind = 'question', request: unknown = question) {
    const { transport, other, backend } = subject()
    const { id: sessionId } = await transport.create({ agent: null })
    const asked = await backend.ask({ sessionId, kind, request: request as never, toolCallId: 'c1' })
    const { interactionId } = asked
    return { transport, other, backend, sessionId, interactionId }
  }

  describe('errors', () => {
    it('are ours, with a code', async () => {
      const error: unknown = await subject()
        .transport.snapshot('nowhere')
        .then(undefined, (caught: unknown) => caught)
      expect(error).toBeInstanceOf(AskbackError)
      expect(error).toMatchObject({ code: 'not_found' })
    })

    it('not_found for what does not exist, [lesson 9] and not “already settled”', async () => {
      const { transport, sessionId } = await asking()
      const notFound = { code: 'not_found' }
      const answer = { sessionId, interactionId: 'never', answer: replies }
      await expect(transport.respond(answer)).rejects.toMatchObject(notFound)
      await expect(transport.cancel(sessionId, 'never')).rejects.toMatchObject(notFound)
      await expect(transport.send('nowhere', 'hi')).rejects.toMatchObject(notFound)
      await expect(transport.interrupt('nowhere')).rejects.toMatchObject(notFound)
      await expect(transport.history('nowhere')).rejects.toMatchObject(notFound)
      await expect(transport.remove('nowhere')).rejects.toMatchObject(notFound)
      await expect(readStream(transport, 'nowhere').over).rejects.toMatchObject(notFound)
      const nothing = { sessionId, toolCallId: 'other' }
      await expect(approveTool(transport, nothing)).rejects.toMatchObject(notFound)
    })

    it('[L9] invalid_answer for one that does not fit, and it stays pending', async () => {
      const { transport, sessionId, interactionId } = await asking()
      const refused = { code: 'invalid_answer' }
      const answer = { answers: [{ selected: ['Oracle'] }, { selected: ['c'] }] }
      await expect(transport.respond({ sessionId, interactionId, answer })).rejects.toMatchObject(refused)
      const target = { sessionId, toolCallId: 'c1' }
      await expect(submitAnswers(transport, target, { 0: 'SQLite' })).rejects.toMatchObject(refused)
      await expect(submitAnswers(transport, target, { 7: 'SQLite' })).rejects.toMatchObject(refused)
      expect((await transport.snapshot(sessionId)).state.pending).toHaveLength(1)
    })

    it('[L6] invalid_answer with the errors of a form and what is asked anew', async () => {
      const { transport, sessionId, interactionId } = await asking('form', form)
      const answering = transport.respond({ sessionId, interactionId, answer: { values: { port: 70_000 } } })
      await expect(answering).rejects.toMatchObject({
        code: 'invalid_answer',
        details: { errors: { port: expect.any(String) as string }, interaction: { status: 'pending' } },
      })
    })

    it('[L3] already_settled with the winner for everyone who comes later', async () => {
      const { transport, other, sessionId, interactionId } = await asking('approval', { input: 1 })
      await other.respond({ sessionId, interactionId, answer: { decision: 'deny', message: 'no' } })
      const late = {
        code: 'already_settled',
        details: { interaction: { settlement: 'denied', message: 'no' } },
      }
      const answer = { decision: 'approve' }
      await expect(transport.respond({ sessionId, interactionId, answer })).rejects.toMatchObject(late)
      await expect(approveTool(transport, { sessionId, toolCallId: 'c1' })).rejects.toMatchObject(late)
      await expect(transport.cancel(sessionId, interactionId)).rejects.toMatchObject(late)
    })

    it('[L3] one’s own answer found there is success', async () => {
      const { transport, backend, sessionId, interactionId } = await asking()
      const input = { sessionId, interactionId, answer: replies }
      await transport.respond(input)
      expect(await transport.respond(input)).toMatchObject({ interaction: { settlement: 'answered' } })
      const responses = (await backend.log(sessionId)).filter(({ type }) => type === 'interaction_response')
      expect(responses).toHaveLength(1)
    })

    it('[L12] digest_mismatch for an answer to another version', async () => {
      const { transport, sessionId, interactionId } = await asking()
      const input = { sessionId, interactionId, answer: replies, digest: '0'.repeat(64) }
      await expect(transport.respond(input)).rejects.toMatchObject({ code: 'digest_mismatch' })
    })

    it('ambiguous where a tool call holds several', async () => {
      const { transport, backend, sessionId } = await asking()
      await backend.ask({ sessionId, kind: 'question', request: question, toolCallId: 'c1' })
      const target = { sessionId, toolCallId: 'c1' }
      await expect(submitAnswers(transport, target, replies.answers)).rejects.toMatchObject({
        code: 'ambiguous',
      })
    })

    it('ambiguous where a tool call has held another request, unless the digest or the interaction is named', async () => {
      const { transport, backend, sessionId } = await asking('approval', { input: 'rm' })
      const owned = { sessionId, kind: 'approval', toolCallId: 'c1', attach: true }
      const shown = await backend.ask({ ...owned, request: { input: 'rm' } })
      const swapped = await backend.ask({ ...owned, request: { input: 'rm -rf' } })
      const target = { sessionId, toolCallId: 'c1' }
      const ambiguous = { code: 'ambiguous', details: { interactions: expect.any(Array) as unknown } }
      await expect(approveTool(transport, target)).rejects.toMatchObject(ambiguous)
      await expect(denyTool(transport, target)).rejects.toMatchObject(ambiguous)
      await expect(approveTool(transport, { ...target, digest: shown.digest })).rejects.toMatchObject({
        code: 'digest_mismatch',
      })
      await expect(approveTool(transport, shown)).rejects.toMatchObject({ code: 'already_settled' })
      expect(await approveTool(transport, { ...target, digest: swapped.digest })).toMatchObject({
        interaction: { interactionId: swapped.interactionId, settlement: 'approved' },
      })
    })

    it('needs_decision, nothing_pending and invalid_request', async () => {
      const { transport, sessionId } = await asking('approval', { input: 1 })
      await expect(transport.send(sessionId, 'yes')).rejects.toMatchObject({ code: 'needs_decision' })
      await transport.send(sessionId, 'because not')
      const nobody = transport.send(sessionId, { text: 'x', route: 'interaction' })
      await expect(nobody).rejects.toMatchObject({ code: 'nothing_pending' })
      await expect(transport.send(sessionId, ' ')).rejects.toMatchObject({ code: 'invalid_request' })
      const mode = transport.setPermissionMode(sessionId, 'everything' as never)
      await expect(mode).rejects.toMatchObject({ code: 'invalid_request' })
    })
  })
}
