import type { Page, Store } from '@askback/core'
import { auditRows, splitMessage } from '@askback/core/store'
import { copyJson, type SessionEvent, type AuditAct, type AuditRow } from '@askback/protocol'
import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import type { Writable } from 'node:stream'
import { readPrivateFile } from './data-folder.js'
import {
  auditKey,
  EXPORT_VERSION,
  isCredential,
  isProcessKey,
  openGatewayData,
  type ExportLine,
  type GatewayData,
} from './export-format.js'
import { TOKENS_KEY } from './serve/tokens.js'

export const EXPORT_FLAGS = {
  data: { type: 'string' },
  store: { type: 'string' },
  'with-credentials': { type: 'boolean', default: false },
} as const

const PAGE_SIZE = 500

/** `askback export [FILE]`: writes everything in a store as lines of JSON, credentials only if asked for. */
export async function exportAll(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: EXPORT_FLAGS })
  const [file = '-'] = positionals
  const data = await openGatewayData(values)
  const { store } = data
  try {
    const out = file === '-' ? process.stdout : createWriteStream(file, { flags: 'wx', mode: 0o600 })
    if (file !== '-') await once(out, 'open')
    const count = await writeLines(data, out, values['with-credentials'])
    if (file !== '-') await new Promise<void>((resolve) => out.end(() => resolve()))
    process.stderr.write(`${count.sessions} sessions, ${count.events} events, ${count.keys} keys.\n`)
    return 0
  } finally {
    await store.close()
  }
}

async function writeLines(
  { store, tokensFile }: GatewayData,
  out: Writable,
  withCredentials: boolean,
): Promise<{ sessions: number; events: number; keys: number }> {
  const put = async (line: ExportLine) => {
    if (!out.write(`${JSON.stringify(line)}\n`)) await once(out, 'drain')
  }
  await put({ askback: EXPORT_VERSION })
  let events = 0
  const otherRows = unloggedAuditRows(store)
  let after = '0'
  for (;;) {
    const changes = await store.changes({ after, limit: PAGE_SIZE })
    for (const change of changes) {
      after = change.cursor
      events += change.events.length
      for (const line of await otherRows.before(change.events)) await put(line)
      if (change.events.length > 0) await put({ sessionId: change.sessionId, events: change.events })
    }
    if (changes.length < PAGE_SIZE) break
  }
  for (const line of await otherRows.rest()) await put(line)
  const tokens = tokensFile === null || !withCredentials ? null : readPrivateFile(tokensFile)
  const keys = (await store.kv.list('')).filter(
    ({ key }) => !isProcessKey(key) && (withCredentials || !isCredential(key)),
  )
  for (const { key, value } of keys) await put({ key, value })
  if (tokens) await put({ key: TOKENS_KEY, value: copyJson(tokens) })
  return { sessions: await store.countSessions(), events, keys: keys.length }
}

/**
 * The audit rows that an import cannot derive from the exported events, such as those of erased sessions and of tokens. Each is
 * written before the events that follow it, so that the audit has the same order after an import.
 */
function unloggedAuditRows(store: Store) {
  const rows = allAuditRows(store)

  async function until(logged: AuditRow | null): Promise<ExportLine[]> {
    const lines: ExportLine[] = []
    for (let next = await rows.next(); !next.done; next = await rows.next()) {
      const { row } = splitMessage(next.value)
      if (logged && auditKey(row) === auditKey(logged)) break
      // A row that was added during the export belongs to events that are exported later.
      if (!(await isLogged(store, row))) lines.push({ audit: row })
    }
    return lines
  }

  return {
    async before(events: SessionEvent[]): Promise<ExportLine[]> {
      const lines: ExportLine[] = []
      for (const logged of events.flatMap(auditRows)) lines.push(...(await until(logged)))
      return lines
    },
    rest: () => until(null),
  }
}

const LOGGED_ACTS: ReadonlySet<AuditAct['act']> = new Set([
  'permission_mode',
  'rule_created',
  'session_deleted',
])

async function isLogged(store: Store, row: AuditRow): Promise<boolean> {
  if (!('act' in row)) return (await store.interaction(row.interactionId)) !== null
  if (row.sessionId === undefined || !LOGGED_ACTS.has(row.act)) return false
  const session = await store.session(row.sessionId)
  return session !== null && session.createdAt <= row.at
}

async function* allAuditRows(store: Store): AsyncGenerator<AuditRow, undefined> {
  let after: string | null = '0'
  while (after !== null) {
    const page: Page<AuditRow> = await store.audit({ after, limit: PAGE_SIZE })
    yield* page.items
    after = page.next
  }
}
