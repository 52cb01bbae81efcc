import { sessionEvent } from '@askback/protocol'
import { z } from 'zod'
import { route, type Route } from '../route.js'
import { sessionParams } from './schemas.js'

const page = z.object({ events: z.array(sessionEvent), next: z.int().nullable() })
const whole = z.string().regex(/^\d+$/)

/** Described here; `streams/` serves them. */
export const streamRoutes: Route[] = [
  route({
    name: 'sessionEvents',
    method: 'GET',
    path: '/api/sessions/:id/events',
    who: 'agent',
    summary: 'The log of a session: as it grows, or with `Accept: application/json` a page of it',
    params: sessionParams,
    query: z.object({
      after: whole.optional(),
      before: whole.optional(),
      limit: whole.optional(),
      log: z.string().optional(),
    }),
    answers: {
      200: {
        description: 'Events, and deltas of blocks that are being made',
        type: 'text/event-stream',
        json: page,
      },
    },
    errors: [404],
  }),
  route({
    name: 'allEvents',
    method: 'GET',
    path: '/api/events',
    who: 'person',
    summary: 'Interaction and status events of all sessions, from now on',
    answers: { 200: { description: 'Events, without ids', type: 'text/event-stream' } },
  }),
  route({
    name: 'webSocket',
    method: 'GET',
    path: '/api/ws',
    who: 'agent',
    summary: 'One socket for many sessions',
    answers: { 101: { description: 'A WebSocket', type: 'text/plain' } },
  }),
]
