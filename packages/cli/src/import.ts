import { jumpAwareClock, type Store } from '@askback/core'
import { registerGatewayTokens } from '@askback/gateway'
import {
  AskbackError,
  auditRow,
  isRecord,
  sessionEvent,
  type Json,
  type SessionEvent,
  type AuditRow,
} from '@askback/protocol'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { usageError } from './arguments.js'
import { readPrivateFile, writePrivateFile } from './data-folder.js'
import { auditKey, EXPORT_VERSION, openGatewayData, type GatewayData } from './export-format.js'
import { TOKENS_KEY } from './serve/tokens.js'

export const IMPORT_FLAGS = { data: { type: 'string' }, store: { type: 'string' } } as const

/** How many writes run at the same time, so that they share a commit. */
const MAX_WRITES = 200

/** `askback import FILE`: reads an export. What exists already stays as it is, so an import may be repeated. */
export async function importAll(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: IMPORT_FLAGS })
  const [file, ...more] = positionals
  if (file === undefined || more.length > 0)
    throw usageError('Usage: askback import FILE --store postgres://…; - reads stdin.')
  const data = await openGatewayData(values)
  const { store } = data
  try {
    const { events, keys } = await readLines(data, file)
    process.stderr.write(`${await store.countSessions()} sessions, ${events} events, ${keys} keys.\n`)
    return 0
  } finally {
    await store.close()
  }
}

async function readLines(data: GatewayData, file: string): Promise<{ events: number; keys: number }> {
  const { store } = data
  const input = file === '-' ? process.stdin : createReadStream(file)
  const opened =
    file === '-'
      ? Promise.resolve()
      : new Promise((resolve, reject) => input.once('open', resolve).once('error', reject))
  await opened.catch((error: unknown) => {
    throw new AskbackError('invalid_request', `The file ${file} cannot be read.`, { cause: error })
  })
  const count = { events: 0, keys: 0 }
  let number = 0
  let writes: Promise<void>[] = []
  let knownAudit: Set<string> | undefined
  const startWrite = (write: Promise<void>) => {
    // Its failure is thrown by `finishWrites`; until then it must not count as unhandled.
    write.catch(() => undefined)
    writes.push(write)
  }
  const finishWrites = async () => {
    await Promise.all(writes)
    writes = []
  }
  for await (const text of createInterface({ input, crlfDelay: Infinity })) {
    number++
    const line = parseLine(text, number)
    if (number === 1) {
      if (![1, 2, EXPORT_VERSION].includes(Number(line['askback'])))
        throw importError(1, 'this is no export of Askback, or one of a newer version')
    } else if (typeof line['key'] === 'string') {
      count.keys++
      if (line['key'] === TOKENS_KEY) await importTokens(data, line['value'], number)
      else startWrite(importKey(store, line['key'], line['value'] ?? null))
    } else if (line['audit'] !== undefined) {
      const row = auditOf(line['audit'], number)
      // The row must come after the events before it, and before those after it.
      await finishWrites()
      knownAudit ??= await auditKeys(store)
      if (!knownAudit.has(auditKey(row))) await store.addAudit([row])
    } else {
      const events = eventsOf(line, number)
      count.events += events.length
      startWrite(importEvents(store, events, number))
    }
    if (writes.length >= MAX_WRITES) await finishWrites()
  }
  await finishWrites()
  if (number === 0) throw importError(1, 'the file is empty')
  return count
}

async function importEvents(store: Store, events: SessionEvent[], line: number): Promise<void> {
  const { sessionId, seq } = events[0]!
  const { ok } = await store.append({ sessionId, expectedSeq: seq - 1, events })
  if (ok) return
  const existing = await store.read({ sessionId, after: seq - 1, limit: events.length })
  if (existing.map(({ id }) => id).join() !== events.map(({ id }) => id).join())
    throw importError(line, `the session ${sessionId} is there already, with another log`)
}

async function importKey(store: Store, key: string, value: Json): Promise<void> {
  await store.kv.put(key, value, null)
}

/** Writes the tokens to the data folder, unless it has others. A shared store gets only their hashes. */
async function importTokens(
  { store, tokensFile: path }: GatewayData,
  value: unknown,
  line: number,
): Promise<void> {
  const { token, agentToken } = isRecord(value) ? value : {}
  if (typeof token !== 'string' || typeof agentToken !== 'string')
    throw importError(line, 'these are no tokens')
  const tokens = { token, agentToken }
  if (path === null)
    await registerGatewayTokens({ store, clock: store.clock ?? jumpAwareClock }, 'imported', tokens)
  else if (readPrivateFile(path) === null) writePrivateFile(path, tokens)
}

/** The audit rows that an earlier, interrupted import may have added. */
async function auditKeys(store: Store): Promise<Set<string>> {
  return new Set((await store.audit({ limit: Infinity })).items.map(auditKey))
}

function auditOf(value: unknown, number: number): AuditRow {
  // The unparsed value, so that another export of it is the same, with all fields.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema accepts it
  if (auditRow.safeParse(value).success) return value as AuditRow
  throw importError(number, 'this is no line of an audit')
}

function eventsOf(line: { [key: string]: Json }, number: number): SessionEvent[] {
  const { events } = line
  // The unparsed values, so that the log is the same, with all fields.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema accepts them
  if (sessionEvent.array().min(1).safeParse(events).success) return events as SessionEvent[]
  throw importError(number, 'these are no events')
}

function parseLine(text: string, number: number): { [key: string]: Json } {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `JSON.parse` returns nothing else
    const value = JSON.parse(text) as Json
    if (isRecord(value)) return value
  } catch {
    // Falls through to the error below.
  }
  throw importError(number, 'this is not JSON, or no object')
}

function importError(line: number, what: string): AskbackError {
  return new AskbackError('invalid_request', `The import stopped at line ${line}: ${what}.`)
}
