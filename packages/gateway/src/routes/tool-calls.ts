import { toolCallBody, toolResultBody } from '@askback/protocol'
import * as z from 'zod'
import { readSource } from '../http/authenticate.js'
import { route, type ApiRoute } from '../route.js'
import { okResponse, ok, sessionParams, toolCall } from './schemas.js'

const reportedCall = z.object({ toolCall })

/** Reports of outside agents about their own tool calls. */
export function toolCallRoutes(): ApiRoute[] {
  return [
    route({
      name: 'reportToolCall',
      method: 'POST',
      path: '/api/sessions/:id/tool-calls',
      allowed: 'agent',
      action: 'ask',
      summary: 'Reports a tool call of an outside agent',
      params: sessionParams,
      headers: ['Source'],
      body: toolCallBody,
      responses: { 201: reportedCall, 200: reportedCall },
      errors: [404, 409],
      async handle({ params, body, request, host, idempotencyKey }) {
        const { toolCall: call, created } = await host.desk.reportToolCall({
          ...body,
          sessionId: params.id,
          source: readSource(request.headers),
          idempotencyKey,
        })
        return { status: created ? 201 : 200, body: { toolCall: call } }
      },
    }),
    route({
      name: 'reportToolResult',
      method: 'POST',
      path: '/api/sessions/:id/tool-calls/:toolCallId/result',
      allowed: 'agent',
      action: 'ask',
      summary: 'Reports the result of a tool call',
      params: sessionParams.extend({ toolCallId: z.string() }),
      body: toolResultBody,
      responses: { 200: ok },
      errors: [404, 409],
      async handle({ params: { id, toolCallId }, body: { output, isError = false }, host, idempotencyKey }) {
        const result = { type: 'tool_result', toolCallId, output, isError } as const
        await host.desk.report({ sessionId: id, events: [result], idempotencyKey })
        return okResponse
      },
    }),
  ]
}
