import type { AuditRow, Page, Store } from '@askback/core'
import type { Json, SessionEvent } from '@askback/protocol'
import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import type { Writable } from 'node:stream'
import { isOfOneProcess, MARK, openStore, type Line, type Opened } from './moving.js'
import { readPrivate } from './private-file.js'
import { TOKENS_KEY } from './serve/tokens.js'

const PAGE = 500

/** `askback export [FILE]`: everything in a store, one JSON a line. */
export async function exportAll(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { data: { type: 'string' }, store: { type: 'string' } },
  })
  const [file = '-'] = positionals
  const opened = await openStore(values)
  const { store } = opened
  try {
    const out = file === '-' ? process.stdout : createWriteStream(file, { flags: 'wx', mode: 0o600 })
    if (file !== '-') await once(out, 'open')
    const count = await write(opened, out)
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
): Promise<{ sessions: number; events: number; keys: number }> {
  const put = async (line: Line) => {
    if (!out.write(`${JSON.stringify(line)}\n`)) await once(out, 'drain')
  }
  await put({ askback: MARK })
  let events = 0
  const gone = goneLines(store)
  let after = '0'
  for (;;) {
    const changes = await store.changes({ after, limit: PAGE })
    for (const change of changes) {
      after = change.cursor
      events += change.events.length
      for (const line of await gone.before(change.events)) await put(line)
      if (change.events.length > 0) await put({ sessionId: change.sessionId, events: change.events })
    }
    if (changes.length < PAGE) break
  }
  for (const line of await gone.rest()) await put(line)
  const kept = tokens === null ? null : readPrivate(tokens)
  const keys = (await store.kv.list('')).filter(({ key }) => !isOfOneProcess(key))
  for (const { key, value } of keys) if (!kept || key !== TOKENS_KEY) await put({ key, value })
  if (kept) await put({ key: TOKENS_KEY, value: kept as { [key: string]: Json } })
  return { sessions: await store.countSessions(), events, keys: keys.length }
}

/** The audit is in the order of the logs that made it: what is not of them stands where it stood. */
function goneLines(store: Store) {
  const rows = auditRows(store)

  async function until(isMeant: (row: AuditRow) => boolean): Promise<Line[]> {
    const lines: Line[] = []
    for (let next = await rows.next(); !next.done; next = await rows.next()) {
      const { message: _, ...row } = next.value
      if (isMeant(row)) break
      // One that came while this was written is of a log that goes on.
      if (!(await store.interaction(row.interactionId))) lines.push({ audit: row })
    }
    return lines
  }

  return {
    async before(events: SessionEvent[]): Promise<Line[]> {
      const lines: Line[] = []
      for (const event of events) {
        if (event.type !== 'interaction_response' || event.copyOf !== undefined) continue
        const { sessionId, interactionId } = event
        const isIt = (row: AuditRow) => row.sessionId === sessionId && row.interactionId === interactionId
        lines.push(...(await until(isIt)))
      }
      return lines
    },
    rest: () => until(() => false),
  }
}

async function* auditRows(store: Store): AsyncGenerator<AuditRow, undefined> {
  let after: string | null = '0'
  while (after !== null) {
    const page: Page<AuditRow> = await store.audit({ after, limit: PAGE })
    yield* page.items
    after = page.next
  }
}
