import { approveBody, denyBody, messageBody, routedMessage, submitAnswersBody } from '@askback/protocol'
import type { ToolCallAnswer } from '@askback/core'
import { type GatewayContext, route, type Call, type Route } from '../route.js'
import { done, ok, sessionParams } from './schemas.js'

/** What a person says in a session: to the agent, or to what is pending. */
export function messageRoutes({ host }: GatewayContext): Route[] {
  type Said = Call<
    'person',
    { id: string },
    unknown,
    { toolCallId: string; digest?: string | undefined; interactionId?: string | undefined }
  >
  const answer = async ({ params, body, origin }: Said, how: ToolCallAnswer) => {
    const { toolCallId, digest, interactionId } = body
    await host.desk.answerToolCall({
      ...origin,
      ...how,
      sessionId: params.id,
      toolCallId,
      ...(digest !== undefined && { digest }),
      ...(interactionId !== undefined && { interactionId }),
    })
    return done
  }
  return [
    route({
      name: 'message',
      method: 'POST',
      path: '/api/sessions/:id/messages',
      who: 'person',
      summary: 'Starts a turn, answers what is pending, or is only logged; says which',
      params: sessionParams,
      body: messageBody,
      answers: { 202: routedMessage },
      errors: [404, 409],
      async handle({ params, body, credential, origin }) {
        const routed = await host.message({ ...body, ...origin, by: credential.by, sessionId: params.id })
        return { status: 202, body: routed }
      },
    }),
    route({
      name: 'submitAnswers',
      method: 'POST',
      path: '/api/sessions/:id/submit-answers',
      who: 'person',
      summary: 'Answers the question of a tool call, by the index of each question',
      params: sessionParams,
      body: submitAnswersBody,
      refusal: 'toolCallId and answers are required',
      answers: { 200: ok },
      errors: [404, 409],
      handle: (call) => answer(call, { kind: 'question', answers: call.body.answers }),
    }),
    route({
      name: 'approve',
      method: 'POST',
      path: '/api/sessions/:id/approve',
      who: 'person',
      summary: 'Approves the tool call, once or by a rule',
      params: sessionParams,
      body: approveBody,
      answers: { 200: ok },
      errors: [404, 409],
      handle(call) {
        const { scope, updatedInput } = call.body
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
      who: 'person',
      summary: 'Denies the tool call, with a reason if there is one',
      params: sessionParams,
      body: denyBody,
      answers: { 200: ok },
      errors: [404, 409],
      handle(call) {
        const { message } = call.body
        return answer(call, { kind: 'approval', decision: 'deny', ...(message !== undefined && { message }) })
      },
    }),
  ]
}
