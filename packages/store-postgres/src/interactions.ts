import { interactionFrom, type Page } from '@askback/core'
import type { EventOf, EventType, Interaction, SessionEvent } from '@askback/protocol'
import type { Database, Value } from './database.js'
import { stored } from './stored.js'

type Row = [
  number: number,
  delivered: boolean,
  pending: boolean,
  request: string,
  requestAt: number,
  progress: string | null,
  progressAt: number | null,
  response: string | null,
  responseAt: number | null,
]

/** The interactions that a condition names, each made of the events that made it. */
export function interactionReader(db: Database, schema: string) {
  const select = `SELECT i.number, i.delivered, i.pending, a.body, i.request_at, b.body, i.progress_at, c.body, i.response_at
    FROM ${schema}.interactions i JOIN ${schema}.sessions s ON s.key = i.session
    JOIN ${schema}.log a ON a.pos = i.request
    LEFT JOIN ${schema}.log b ON b.pos = i.progress LEFT JOIN ${schema}.log c ON c.pos = i.response`

  return {
    async find(where: string, params: Value[]): Promise<Interaction[]> {
      const rows = await db.read<Row>(`${select} WHERE ${where}`, params)
      return rows.map(rebuild)
    },
    async page(where: string, params: Value[], limit: number): Promise<Page<Interaction>> {
      const most = limit === Infinity ? '' : ` LIMIT ${Math.trunc(limit) + 1}`
      const rows = await db.read<Row>(`${select} WHERE ${where} ORDER BY i.number${most}`, params)
      const items = rows.slice(0, limit)
      return { items: items.map(rebuild), next: rows.length > limit ? String(items.at(-1)![0]) : null }
    },
  }
}

function rebuild(row: Row): Interaction {
  const [, delivered, pending, request, requestAt, progress, progressAt, response, responseAt] = row
  return interactionFrom({
    request: event('interaction_request', request, requestAt),
    ...(progress !== null && { progress: event('interaction_progress', progress, progressAt) }),
    ...(response !== null && { response: event('interaction_response', response, responseAt) }),
    delivered,
    pending,
  })
}

function event<Type extends EventType>(type: Type, body: string, index: number | null): EventOf<Type> {
  const found = stored<SessionEvent[]>(body)[index ?? -1]
  if (found && isOf(found, type)) return found
  throw new Error(`its log has no ${type} where its index says`)
}

function isOf<Type extends EventType>(event: SessionEvent, type: Type): event is EventOf<Type> {
  return event.type === type
}
