import {
  approveBody,
  denyBody,
  messageBody,
  routedMessage,
  submitAnswersBody,
  type MessageBody,
} from '@askback/protocol'
import type { ToolCallAnswer } from '@askback/core'
import type { SessionAction } from '../access/embedder.js'
import { route, type RouteCall, type ApiRoute } from '../route.js'
import { okResponse, ok, sessionParams } from './schemas.js'

/** A text can go to the agent or answer what is pending; who leaves that open must be allowed both. */
function messageActions({ route: to = 'auto', interactionId }: MessageBody): SessionAction[] {
  if (to === 'agent') return ['message']
  return to === 'interaction' || interactionId !== undefined ? ['answer'] : ['message', 'answer']
}

/** Messages of a person to the agent. */
export function messageRoutes(): ApiRoute[] {
  return [
    route({
      name: 'sendMessage',
      keyScope: 'message',
      method: 'POST',
      path: '/api/sessions/:id/messages',
      allowed: 'person',
      action: 'checked',
      summary:
        'Sends a text: it starts a turn, answers a pending interaction, or is only logged; the response says which',
      params: sessionParams,
      body: messageBody,
      responses: { 202: routedMessage },
      errors: [404, 409],
      async handle({ params, body, access, host, idempotencyKey }) {
        await access?.check(params.id, ...messageActions(body))
        const routed = await host.message({ ...body, idempotencyKey, sessionId: params.id })
        return { status: 202, body: routed }
      },
    }),
  ]
}

/** Answers to the interaction of a tool call. */
export function toolCallAnswerRoutes(): ApiRoute[] {
  type ToolCallAnswerCall = RouteCall<
    'person',
    { id: string },
    unknown,
    { toolCallId: string; digest?: string | undefined; interactionId?: string | undefined }
  >
  const answer = async (call: ToolCallAnswerCall, toolCallAnswer: ToolCallAnswer) => {
    const { params, body, host, idempotencyKey } = call
    const { toolCallId, digest, interactionId } = body
    await host.desk.answerToolCall({
      idempotencyKey,
      ...toolCallAnswer,
      sessionId: params.id,
      toolCallId,
      ...(digest !== undefined && { digest }),
      ...(interactionId !== undefined && { interactionId }),
    })
    return okResponse
  }
  return [
    route({
      name: 'submitAnswers',
      method: 'POST',
      path: '/api/sessions/:id/submit-answers',
      allowed: 'person',
      action: 'answer',
      summary: 'Answers the questions of a tool call, by the index of each question',
      params: sessionParams,
      body: submitAnswersBody,
      refusal: 'toolCallId and answers are required',
      responses: { 200: ok },
      errors: [404, 409],
      handle: (call) => answer(call, { kind: 'question', answers: call.body.answers }),
    }),
    route({
      name: 'approve',
      method: 'POST',
      path: '/api/sessions/:id/approve',
      allowed: 'person',
      action: 'answer',
      summary: 'Approves a tool call, once or with a rule',
      params: sessionParams,
      body: approveBody,
      responses: { 200: ok },
      errors: [404, 409],
      async handle(call) {
        const { scope, updatedInput } = call.body
        await call.access?.checkScope(scope)
        return answer(call, {
          kind: 'approval',
          decision: 'approve',
          ...(scope && { scope }),
          ...(updatedInput !== undefined && { updatedInput }),
        })
      },
    }),
    route({
      name: 'deny',
      method: 'POST',
      path: '/api/sessions/:id/deny',
      allowed: 'person',
      action: 'answer',
      summary: 'Denies a tool call, optionally with a reason',
      params: sessionParams,
      body: denyBody,
      responses: { 200: ok },
      errors: [404, 409],
      handle(call) {
        const { message } = call.body
        return answer(call, { kind: 'approval', decision: 'deny', ...(message !== undefined && { message }) })
      },
    }),
  ]
}
