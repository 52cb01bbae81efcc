import type { AuditRow, Desk } from '@askback/core'
import { Readable } from 'node:stream'
import { z } from 'zod'
import type { GatewayContext } from '../context.js'
import { SECURITY_HEADERS } from '../http/answers.js'
import { route, type Route } from '../route.js'

const COLUMNS = [
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
] as const satisfies (keyof AuditRow)[]

const FORMATS = {
  jsonl: {
    type: 'application/jsonl; charset=utf-8',
    head: '',
    line: (row: AuditRow) => `${JSON.stringify(row)}\n`,
  },
  csv: { type: 'text/csv; charset=utf-8', head: `${COLUMNS.join(',')}\r\n`, line: csvLine },
} as const

export function auditRoutes({ host: { desk } }: GatewayContext): Route[] {
  return [
    route({
      name: 'audit',
      method: 'GET',
      path: '/api/audit',
      who: 'person',
      summary: 'Who settled what, in the order it happened; outlives its sessions',
      query: z.object({ format: z.enum(['jsonl', 'csv']).optional() }),
      answers: { 200: { description: 'One settlement a line', type: 'application/jsonl' } },
      handle({ query: { format = 'jsonl' }, reply }) {
        const { type, head, line } = FORMATS[format]
        void reply
          .headers({ ...SECURITY_HEADERS, 'content-type': type, 'cache-control': 'no-store' })
          .send(Readable.from(lines(desk, head, line), { objectMode: false }))
        return { handled: true }
      },
    }),
  ]
}

/** Page by page, as the reader takes them. */
async function* lines(desk: Desk, head: string, line: (row: AuditRow) => string): AsyncGenerator<string> {
  if (head !== '') yield head
  let after: string | undefined
  do {
    const page = await desk.audit(after === undefined ? {} : { after })
    if (page.items.length > 0) yield page.items.map(line).join('')
    after = page.next ?? undefined
  } while (after !== undefined)
}

function csvLine(row: AuditRow): string {
  const cells = COLUMNS.map((column) => {
    const value = row[column]
    return typeof value === 'object' ? value.id : value
  })
  return `${cells.map(csvCell).join(',')}\r\n`
}

/** A cell that a spreadsheet would take for a formula begins with an apostrophe. */
function csvCell(value: string | number | undefined): string {
  if (value === undefined || typeof value === 'number') return value === undefined ? '' : String(value)
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
