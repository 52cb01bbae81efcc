import type { Desk } from '@askback/core'
import type { Actor, AuditAct, AuditDecision, AuditRow } from '@askback/protocol'
import { Readable } from 'node:stream'
import * as z from 'zod'
import type { CallAccess } from '../access/call-access.js'
import { SECURITY_HEADERS } from '../http/responses.js'
import { type GatewayContext, route, type ApiRoute } from '../route.js'

const DECISION_COLUMNS = [
  'at',
  'sessionId',
  'interactionId',
  'toolCallId',
  'toolName',
  'kind',
  'settlement',
  'by',
  'via',
  'digest',
  'message',
] as const satisfies (keyof AuditDecision)[]
const ACT_COLUMNS = ['at', 'act', 'by', 'via', 'sessionId', 'subject'] as const satisfies (keyof AuditAct)[]

type AuditFilter = 'decisions' | 'acts' | undefined

const CONTENT_TYPES = { jsonl: 'application/jsonl; charset=utf-8', csv: 'text/csv; charset=utf-8' } as const

export function auditRoutes({ host: { desk } }: GatewayContext): ApiRoute[] {
  return [
    route({
      name: 'readAudit',
      method: 'GET',
      path: '/api/audit',
      allowed: 'person',
      action: 'filtered',
      summary:
        'Lists all settlements and administrative acts in order, with the person; entries outlive their sessions',
      query: z.object({
        format: z.enum(['jsonl', 'csv']).optional(),
        only: z.enum(['decisions', 'acts']).optional(),
      }),
      responses: {
        200: { description: 'One settlement or act per line', types: ['application/jsonl', 'text/csv'] },
      },
      async handle({ query: { format = 'jsonl', only }, access, reply }) {
        const readable = access && (await auditReader(access))
        const rows = pages(desk, only, readable)
        const lines = format === 'csv' ? csvLines(rows, only) : jsonLines(rows)
        void reply
          .headers({
            ...SECURITY_HEADERS,
            'content-type': CONTENT_TYPES[format],
            'cache-control': 'no-store',
          })
          .send(Readable.from(lines, { objectMode: false }))
        return { handled: true }
      },
    }),
  ]
}

async function* jsonLines(pagesOfRows: AsyncIterable<AuditRow[]>): AsyncGenerator<string> {
  for await (const rows of pagesOfRows) yield rows.map((row) => `${JSON.stringify(row)}\n`).join('')
}

/** If both are requested, the columns are those of a decision and then the remaining ones of an act. */
async function* csvLines(pagesOfRows: AsyncIterable<AuditRow[]>, only: AuditFilter): AsyncGenerator<string> {
  const columns =
    only === 'acts'
      ? ACT_COLUMNS
      : only === 'decisions'
        ? DECISION_COLUMNS
        : [...new Set([...DECISION_COLUMNS, ...ACT_COLUMNS])]
  yield `${columns.join(',')}\r\n`
  for await (const rows of pagesOfRows) yield rows.map((row) => csvLine(row, columns)).join('')
}

/** Reads a page when the client has received the one before it. */
async function* pages(
  desk: Desk,
  only: AuditFilter,
  readable: ((rows: AuditRow[]) => Promise<AuditRow[]>) | null,
): AsyncGenerator<AuditRow[]> {
  let after: string | undefined
  do {
    const { items, next } = await desk.audit(after === undefined ? {} : { after })
    const wanted = only === undefined ? items : items.filter((row) => 'act' in row === (only === 'acts'))
    const rows = readable ? await readable(wanted) : wanted
    if (rows.length > 0) yield rows
    after = next ?? undefined
  } while (after !== undefined)
}

/** Rows of sessions that the caller may read; all others, also of deleted sessions, are for who administers the gateway. */
async function auditReader(access: CallAccess): Promise<(rows: AuditRow[]) => Promise<AuditRow[]>> {
  if (await access.mayAdminister()) return async (rows) => rows
  return async (rows) => {
    const ofSessions = rows.filter(({ sessionId }) => sessionId !== undefined)
    return access.readable(ofSessions, ({ sessionId }) => sessionId ?? '')
  }
}

function csvLine(row: AuditRow, columns: readonly string[]): string {
  const cells = new Map(Object.entries(row))
  return `${columns.map((column) => csvCell(cells.get(column))).join(',')}\r\n`
}

/** Characters that make a spreadsheet run a cell as a formula, also in full width and after white space, which some skip. */
const FORMULA = /^[\s\p{Z}\p{C}]*[=+\-@|＝＋－＠｜]|^[\t\r\n]/u

/**
 * A text that a spreadsheet would run as a formula gets an apostrophe in front. Every text is quoted, because some spreadsheets also
 * split cells at semicolons and tabs.
 */
function csvCell(cell: string | number | Actor | undefined): string {
  const value = typeof cell === 'object' ? cell.id : cell
  if (value === undefined) return ''
  if (typeof value === 'number') return String(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return `"${text.replaceAll('"', '""')}"`
}
