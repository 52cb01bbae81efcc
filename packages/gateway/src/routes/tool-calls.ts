import { toolCallBody, toolResultBody } from '@askback/protocol'
import { z } from 'zod'
import { fenceOf } from '../http/access.js'
import { readSource } from '../http/authenticate.js'
import { type GatewayContext, route, type ApiRoute } from '../route.js'
import { okResponse, ok, sessionParams } from './schemas.js'

const toolCall = z.looseObject({
  toolCallId: z.string(),
  toolName: z.string(),
  at: z.number(),
  turnId: z.string().optional(),
  responseId: z.string().optional(),
})

/** Reports of outside agents about their own tool calls. */
export function toolCallRoutes(context: GatewayContext): ApiRoute[] {
  const { desk } = context.host
  return [
    route({
      name: 'reportToolCall',
      method: 'POST',
      path: '/api/sessions/:id/tool-calls',
      allowed: 'agent',
      summary: 'Reports a tool call of an outside agent',
      params: sessionParams,
      body: toolCallBody,
      responses: { 201: z.object({ toolCall }), 200: z.object({ toolCall }) },
      errors: [404, 409],
      async handle({ params, body, request, credential, origin: { idempotencyKey } }) {
        const { toolCall: call, created } = await desk.reportToolCall({
          ...body,
          sessionId: params.id,
          source: readSource(request.headers),
          fence: fenceOf(context, credential),
          ...(idempotencyKey !== undefined && { idempotencyKey }),
        })
        return { status: created ? 201 : 200, body: { toolCall: call } }
      },
    }),
    route({
      name: 'reportToolResult',
      method: 'POST',
      path: '/api/sessions/:id/tool-calls/:toolCallId/result',
      allowed: 'agent',
      summary: 'Reports what came of it',
      params: sessionParams.extend({ toolCallId: z.string() }),
      body: toolResultBody,
      responses: { 200: ok },
      errors: [404, 409],
      async handle({
        params: { id, toolCallId },
        body: { output, isError = false },
        credential,
        origin: { idempotencyKey },
      }) {
        await desk.report({
          sessionId: id,
          events: [{ type: 'tool_result', toolCallId, output, isError }],
          fence: fenceOf(context, credential),
          ...(idempotencyKey !== undefined && { idempotencyKey }),
        })
        return okResponse
      },
    }),
  ]
}
