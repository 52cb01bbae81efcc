import { AskbackError } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { approveTool, denyTool, submitAnswers } from '../stores/tool-answers.js'
import { form, question, readStream, replies, type ConformanceSubject } from './conformance-subject.js'

/** Every transport throws the same errors. */
export function errorsConform(subject: () => ConformanceSubject): void {
  /** A session without an agent, with one pending interaction. */
  async function sessionWithRequest(kind = 'question', request: unknown = question) {
    const { transport, other, backend } = subject()
    const { id: sessionId } = await transport.create({ agent: null })
    const asked = await backend.ask({ sessionId, kind, request: request as never, toolCallId: 'c1' })
    const { interactionId } = asked
    return { transport, other, backend, sessionId, interactionId }
  }

  describe('errors', () => {
    it('are an AskbackError with a code', async () => {
      const error: unknown = await subject()
        .transport.snapshot('nowhere')
        .then(undefined, (caught: unknown) => caught)
      expect(error).toBeInstanceOf(AskbackError)
      expect(error).toMatchObject({ code: 'not_found' })
    })

    it('are not_found for what does not exist, and never already_settled', async () => {
      const { transport, sessionId } = await sessionWithRequest()
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

    it('[L9] are invalid_answer for an answer that does not fit, and the interaction stays pending', async () => {
      const { transport, sessionId, interactionId } = await sessionWithRequest()
      const refused = { code: 'invalid_answer' }
      const answer = { answers: [{ selected: ['Oracle'] }, { selected: ['c'] }] }
      await expect(transport.respond({ sessionId, interactionId, answer })).rejects.toMatchObject(refused)
      const target = { sessionId, toolCallId: 'c1' }
      await expect(submitAnswers(transport, target, { 0: 'SQLite' })).rejects.toMatchObject(refused)
      await expect(submitAnswers(transport, target, { 7: 'SQLite' })).rejects.toMatchObject(refused)
      expect((await transport.snapshot(sessionId)).state.pending).toHaveLength(1)
    })

    it('[L6] are invalid_answer with the errors of a form and the interaction that asks again', async () => {
      const { transport, sessionId, interactionId } = await sessionWithRequest('form', form)
      const answering = transport.respond({ sessionId, interactionId, answer: { values: { port: 70_000 } } })
      await expect(answering).rejects.toMatchObject({
        code: 'invalid_answer',
        details: { errors: { port: expect.any(String) as string }, interaction: { status: 'pending' } },
      })
    })

    it('[L3] are already_settled, with the first answer, for every later one', async () => {
      const { transport, other, sessionId, interactionId } = await sessionWithRequest('approval', {
        input: 1,
      })
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

    it('[L3] are no error if the same answer was accepted before', async () => {
      const { transport, backend, sessionId, interactionId } = await sessionWithRequest()
      const input = { sessionId, interactionId, answer: replies }
      await transport.respond(input)
      expect(await transport.respond(input)).toMatchObject({ interaction: { settlement: 'answered' } })
      const responses = (await backend.log(sessionId)).filter(({ type }) => type === 'interaction_response')
      expect(responses).toHaveLength(1)
    })

    it('[L12] are digest_mismatch for an answer to another version of the request', async () => {
      const { transport, sessionId, interactionId } = await sessionWithRequest()
      const input = { sessionId, interactionId, answer: replies, digest: '0'.repeat(64) }
      await expect(transport.respond(input)).rejects.toMatchObject({ code: 'digest_mismatch' })
    })

    it('are ambiguous if a tool call has several pending interactions', async () => {
      const { transport, backend, sessionId } = await sessionWithRequest()
      await backend.ask({ sessionId, kind: 'question', request: question, toolCallId: 'c1' })
      const target = { sessionId, toolCallId: 'c1' }
      await expect(submitAnswers(transport, target, replies.answers)).rejects.toMatchObject({
        code: 'ambiguous',
      })
    })

    it('are ambiguous if a tool call has had another request, unless the digest or the interaction is named', async () => {
      const { transport, backend, sessionId } = await sessionWithRequest('approval', { input: 'rm' })
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

    it('are needs_decision, nothing_pending or invalid_request for messages that cannot be routed', async () => {
      const { transport, sessionId } = await sessionWithRequest('approval', { input: 1 })
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
