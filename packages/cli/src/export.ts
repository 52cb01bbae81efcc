import type { Store } from '@askback/core'
import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import type { Writable } from 'node:stream'
import { isOfOneProcess, MARK, openStore, type Line } from './moving.js'

const PAGE = 500

/** `askback export [FILE]`: everything in a store, one JSON a line. */
export async function exportAll(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { data: { type: 'string' }, store: { type: 'string' } },
  })
  const [file = '-'] = positionals
  const store = await openStore(values)
  try {
    const out = file === '-' ? process.stdout : createWriteStream(file, { flags: 'wx', mode: 0o600 })
    if (file !== '-') await once(out, 'open')
    const count = await write(store, out)
    if (file !== '-') await new Promise<void>((resolve) => out.end(() => resolve()))
    process.stderr.write(`${count.sessions} sessions, ${count.events} events, ${count.keys} keys.\n`)
    return 0
  } finally {
    await store.close()
  }
}

async function write(
  store: Store,
  out: Writable,
): Promise<{ sessions: number; events: number; keys: number }> {
  const put = async (line: Line) => {
    if (!out.write(`${JSON.stringify(line)}\n`)) await once(out, 'drain')
  }
  await put({ askback: MARK })
  let events = 0
  let after = '0'
  for (;;) {
    const changes = await store.changes({ after, limit: PAGE })
    for (const change of changes) {
      after = change.cursor
      events += change.events.length
      if (change.events.length > 0) await put({ sessionId: change.sessionId, events: change.events })
    }
    if (changes.length < PAGE) break
  }
  const keys = (await store.kv.list('')).filter(({ key }) => !isOfOneProcess(key))
  for (const { key, value } of keys) await put({ key, value })
  return { sessions: await store.countSessions(), events, keys: keys.length }
}
