import type { Desk } from '@askback/core'
import type { Actor, AuditAct, AuditDecision, AuditRow } from '@askback/protocol'
import { Readable } from 'node:stream'
import * as z from 'zod'
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
      name: 'audit',
      method: 'GET',
      path: '/api/audit',
      allowed: 'person',
      summary:
        'Lists all settlements and administrative acts in order, with the person; entries outlive their sessions',
      query: z.object({
        format: z.enum(['jsonl', 'csv']).optional(),
        only: z.enum(['decisions', 'acts']).optional(),
      }),
      responses: { 200: { description: 'One settlement or act per line', type: 'application/jsonl' } },
      handle({ query: { format = 'jsonl', only }, reply }) {
        const lines = format === 'csv' ? csvLines(desk, only) : jsonLines(desk, only)
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

async function* jsonLines(desk: Desk, only: AuditFilter): AsyncGenerator<string> {
  for await (const rows of pages(desk, only)) yield rows.map((row) => `${JSON.stringify(row)}\n`).join('')
}

/** If both are requested, the columns are those of a decision and then the remaining ones of an act. */
async function* csvLines(desk: Desk, only: AuditFilter): AsyncGenerator<string> {
  const columns =
    only === 'acts'
      ? ACT_COLUMNS
      : only === 'decisions'
        ? DECISION_COLUMNS
        : [...new Set([...DECISION_COLUMNS, ...ACT_COLUMNS])]
  yield `${columns.join(',')}\r\n`
  for await (const rows of pages(desk, only)) yield rows.map((row) => csvLine(row, columns)).join('')
}

/** Reads a page when the client has received the one before it. */
async function* pages(desk: Desk, only: AuditFilter): AsyncGenerator<AuditRow[]> {
  let after: string | undefined
  do {
    const { items, next } = await desk.audit(after === undefined ? {} : { after })
    const rows = only === undefined ? items : items.filter((row) => 'act' in row === (only === 'acts'))
    if (rows.length > 0) yield rows
    after = next ?? undefined
  } while (after !== undefined)
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
