import { auditRows, splitMessage, type Page, type Store } from '@askback/core'
import type { Json, SessionEvent, AuditAct, AuditRow } from '@askback/protocol'
import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import type { Writable } from 'node:stream'
import { isCredential, isOfOneProcess, MARK, nameOf, openStore, type Line, type Opened } from './moving.js'
import { readPrivate } from './private-file.js'
import { TOKENS_KEY } from './serve/tokens.js'

const PAGE = 500

/** `askback export [FILE]`: everything in a store, one JSON a line; what lets people in only if asked for. */
export async function exportAll(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      data: { type: 'string' },
      store: { type: 'string' },
      'with-credentials': { type: 'boolean', default: false },
    },
  })
  const [file = '-'] = positionals
  const opened = await openStore(values)
  const { store } = opened
  try {
    const out = file === '-' ? process.stdout : createWriteStream(file, { flags: 'wx', mode: 0o600 })
    if (file !== '-') await once(out, 'open')
    const count = await write(opened, out, values['with-credentials'])
    if (file !== '-') await new Promise<void>((resolve) => out.end(() => resolve()))
    process.stderr.write(`${count.sessions} sessions, ${count.events} events, ${count.keys} keys.\n`)
    return 0
  } finally {
    await store.close()
  }
}

async function write(
  { store, tokens }: Opened,
  out: Writable,
  withCredentials: boolean,
): Promise<{ sessions: number; events: number; keys: number }> {
  const put = async (line: Line) => {
    if (!out.write(`${JSON.stringify(line)}\n`)) await once(out, 'drain')
  }
  await put({ askback: MARK })
  let events = 0
  const others = otherRows(store)
  let after = '0'
  for (;;) {
    const changes = await store.changes({ after, limit: PAGE })
    for (const change of changes) {
      after = change.cursor
      events += change.events.length
      for (const line of await others.before(change.events)) await put(line)
      if (change.events.length > 0) await put({ sessionId: change.sessionId, events: change.events })
    }
    if (changes.length < PAGE) break
  }
  for (const line of await others.rest()) await put(line)
  const kept = tokens === null || !withCredentials ? null : readPrivate(tokens)
  const keys = (await store.kv.list('')).filter(
    ({ key }) => !isOfOneProcess(key) && (withCredentials || !isCredential(key)),
  )
  for (const { key, value } of keys) await put({ key, value })
  if (kept) await put({ key: TOKENS_KEY, value: kept as { [key: string]: Json } })
  return { sessions: await store.countSessions(), events, keys: keys.length }
}

/**
 * The rows of the audit that no log in the export makes again, such as those of erased sessions and of tokens. They are
 * written where they stand between the logs, so that an import leaves the same order.
 */
function otherRows(store: Store) {
  const rows = allRows(store)

  async function until(logged: AuditRow | null): Promise<Line[]> {
    const lines: Line[] = []
    for (let next = await rows.next(); !next.done; next = await rows.next()) {
      const { row } = splitMessage(next.value)
      if (logged && nameOf(row) === nameOf(logged)) break
      // One that was added while this was written belongs to a log that goes on.
      if (!(await isLogged(store, row))) lines.push({ audit: row })
    }
    return lines
  }

  return {
    async before(events: SessionEvent[]): Promise<Line[]> {
      const lines: Line[] = []
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

async function* allRows(store: Store): AsyncGenerator<AuditRow, undefined> {
  let after: string | null = '0'
  while (after !== null) {
    const page: Page<AuditRow> = await store.audit({ after, limit: PAGE })
    yield* page.items
    after = page.next
  }
}
