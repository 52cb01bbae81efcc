import { AskbackError, toolCallBody, toolResultBody } from '@askback/protocol'
import { z } from 'zod'
import type { GatewayContext } from '../context.js'
import { fenceOf } from '../http/fence.js'
import { route, type Route } from '../route.js'
import { done, ok, sessionParams } from './schemas.js'

const toolCall = z.looseObject({
  toolCallId: z.string(),
  toolName: z.string(),
  at: z.number(),
  turnId: z.string().optional(),
  responseId: z.string().optional(),
})

const SOURCES = ['http', 'cli', 'mcp', 'hook'] as const

/** What an outside agent tells of its own doing. */
export function toolCallRoutes(context: GatewayContext): Route[] {
  const { desk } = context.host
  return [
    route({
      name: 'reportToolCall',
      method: 'POST',
      path: '/api/sessions/:id/tool-calls',
      who: 'agent',
      summary: 'Reports a tool call of an outside agent',
      params: sessionParams,
      body: toolCallBody,
      answers: { 201: z.object({ toolCall }), 200: z.object({ toolCall }) },
      errors: [404, 409],
      async handle({ params, body, request, credential, origin: { idempotencyKey } }) {
        const { toolCall: call, created } = await desk.reportToolCall({
          ...body,
          sessionId: params.id,
          source: sourceIn(request.headers['askback-source']),
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
      who: 'agent',
      summary: 'Reports what came of it',
      params: sessionParams.extend({ toolCallId: z.string() }),
      body: toolResultBody,
      answers: { 200: ok },
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
        return done
      },
    }),
  ]
}

/** How the call came to us: a client of ours says so itself. */
function sourceIn(header: string | string[] | undefined): (typeof SOURCES)[number] {
  if (header === undefined) return 'http'
  const source = SOURCES.find((each) => each === header)
  if (source) return source
  throw new AskbackError('invalid_request', `Askback-Source is one of ${SOURCES.join(', ')}.`)
}
