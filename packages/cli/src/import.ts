import { systemClock, type Store } from '@askback/core'
import { registerGatewayTokens } from '@askback/gateway'
import {
  AskbackError,
  auditRow,
  sessionEvent,
  type Json,
  type SessionEvent,
  type AuditRow,
} from '@askback/protocol'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { MARK, nameOf, openStore, type Opened } from './moving.js'
import { readPrivate, writePrivate } from './private-file.js'
import { TOKENS_KEY } from './serve/tokens.js'
import { usageError } from './usage.js'

/** So many appends share a commit. */
const AT_ONCE = 200

/** `askback import FILE`: what `askback export` wrote. What is there already is left as it is, so it may be run again. */
export async function importAll(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { data: { type: 'string' }, store: { type: 'string' } },
  })
  const [file, ...more] = positionals
  if (file === undefined || more.length > 0)
    throw usageError('Usage: askback import FILE --store postgres://…; - reads stdin.')
  const opened = await openStore(values)
  const { store } = opened
  try {
    const { events, keys } = await read(opened, file)
    process.stderr.write(`${await store.countSessions()} sessions, ${events} events, ${keys} keys.\n`)
    return 0
  } finally {
    await store.close()
  }
}

async function read(target: Opened, file: string): Promise<{ events: number; keys: number }> {
  const { store } = target
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
  let underway: Promise<void>[] = []
  let known: Set<string> | undefined
  const begin = (work: Promise<void>) => {
    // Its failure is heard where all are waited for.
    work.catch(() => undefined)
    underway.push(work)
  }
  const done = async () => {
    await Promise.all(underway)
    underway = []
  }
  for await (const text of createInterface({ input, crlfDelay: Infinity })) {
    number++
    const line = parsed(text, number)
    if (number === 1) {
      if (![1, 2, MARK].includes(Number(line['askback'])))
        throw broken(1, 'this is no export of Askback, or one of a newer version')
    } else if (typeof line['key'] === 'string') {
      count.keys++
      if (line['key'] === TOKENS_KEY) await keepTokens(target, line['value'], number)
      else begin(keep(store, line['key'], (line['value'] ?? null) as Json))
    } else if (line['audit'] !== undefined) {
      const row = auditOf(line['audit'], number)
      // It stands between what came before it and what comes after.
      await done()
      known ??= await auditKeys(store)
      if (!known.has(nameOf(row))) await store.addAudit([row])
    } else {
      const events = eventsOf(line, number)
      count.events += events.length
      begin(append(store, events, number))
    }
    if (underway.length >= AT_ONCE) await done()
  }
  await done()
  if (number === 0) throw broken(1, 'the file is empty')
  return count
}

async function append(store: Store, events: SessionEvent[], line: number): Promise<void> {
  const { sessionId, seq } = events[0]!
  const { ok } = await store.append({ sessionId, expectedSeq: seq - 1, events })
  if (ok) return
  const there = await store.read({ sessionId, after: seq - 1, limit: events.length })
  if (there.map(({ id }) => id).join() !== events.map(({ id }) => id).join())
    throw broken(line, `the session ${sessionId} is there already, with another log`)
}

async function keep(store: Store, key: string, value: Json): Promise<void> {
  await store.kv.put(key, value, null)
}

/** Beside a file as they are, unless there are others. Every other store has their hashes only. */
async function keepTokens({ store, tokens: path }: Opened, value: unknown, line: number): Promise<void> {
  const { token, agentToken } = Object(value) as Record<string, unknown>
  if (typeof token !== 'string' || typeof agentToken !== 'string') throw broken(line, 'these are no tokens')
  const tokens = { token, agentToken }
  if (path === null)
    await registerGatewayTokens({ store, clock: store.clock ?? systemClock }, 'imported', tokens)
  else if (readPrivate(path) === null) writePrivate(path, tokens)
}

/** What an import that was cut off has brought already. */
async function auditKeys(store: Store): Promise<Set<string>> {
  return new Set((await store.audit({ limit: Infinity })).items.map(nameOf))
}

function auditOf(value: unknown, number: number): AuditRow {
  // As it was written, field by field, so that another export of it is the same.
  if (auditRow.safeParse(value).success) return value as AuditRow
  throw broken(number, 'this is no line of an audit')
}

function eventsOf(line: Record<string, unknown>, number: number): SessionEvent[] {
  const { events } = line
  // As they were written, field by field, and not as they are read.
  if (sessionEvent.array().min(1).safeParse(events).success) return events as SessionEvent[]
  throw broken(number, 'these are no events')
}

function parsed(text: string, number: number): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // Said below, in words.
  }
  throw broken(number, 'this is not JSON')
}

function broken(line: number, what: string): AskbackError {
  return new AskbackError('invalid_request', `The import stopped at line ${line}: ${what}.`)
}
