import {
  auditRows,
  pendingChanges,
  sessionChange,
  sessionInfo,
  splitMessage,
  type Append,
} from '@askback/core'
import type { SessionEvent } from '@askback/protocol'
import type { Value } from './database.js'
import { keyText } from './key-text.js'

type Cell = string | number | boolean | null

/** The columns of one call, in the order of its parameters. */
export function appendParameters(appends: Append[]): Value[] {
  const jobs = new Table(10)
  const fences = new Table(2)
  const keys = new Table(4)
  const calls = new Table(5)
  const asked = new Table(9)
  const audit = new Table(3)
  const owners = new Table(1)
  const isFenced = appends.some((append) => append.fence)
  for (const [index, append] of appends.entries()) {
    const job = index + 1
    jobs.add(...jobRow(append))
    const { fence } = append
    owners.add(append.lockOwner ?? null)
    if (isFenced) fences.add(fence ? keyText(fence.key) : null, fence?.version ?? null)
    for (const [key, { value, ifAbsent = false }] of new Map(
      (append.kv ?? []).map((write) => [write.key, write]),
    ))
      keys.add(job, keyText(key), value === null ? null : JSON.stringify(value), ifAbsent)
    for (const [id, call] of callsOf(append.events))
      calls.add(job, keyText(id), call.made, call.madeEnded, call.ended)
    for (const [id, item] of askedOf(append.events)) {
      const { tool, expires, request, progress, response, delivered, pending } = item
      asked.add(job, keyText(id), tool, expires, request, progress, response, delivered, pending)
    }
    for (const { row, message } of append.events.flatMap(auditRows).map(splitMessage))
      audit.add(job, JSON.stringify(row), message === null ? null : JSON.stringify(message))
  }
  return [jobs, fences, keys, calls, asked, audit, owners].flatMap(({ columns }) => columns)
}

class Table {
  readonly columns: Cell[][]

  constructor(width: number) {
    this.columns = Array.from({ length: width }, () => [])
  }

  add(...cells: Cell[]): void {
    for (const [index, cell] of cells.entries()) this.columns[index]!.push(cell)
  }
}

function jobRow({ sessionId, expectedSeq, events, texts, logId }: Append): Cell[] {
  const body = texts ? `[${texts().join(',')}]` : JSON.stringify(events)
  const { updatedAt, status = null, permissionMode = null } = sessionChange(events)
  const isFirst = expectedSeq === 0
  return [
    keyText(sessionId),
    expectedSeq,
    logId === undefined ? null : keyText(logId),
    body,
    events.length,
    isFirst ? keyText(events[0]!.id) : null,
    isFirst ? JSON.stringify(sessionInfo(events)) : null,
    updatedAt,
    status,
    permissionMode,
  ]
}

/** What an append says of its tool calls; one that ends before it is made ends only if it was there before. */
function callsOf(events: SessionEvent[]): Map<string, { made: boolean; madeEnded: boolean; ended: boolean }> {
  const calls = new Map<string, { made: boolean; madeEnded: boolean; ended: boolean }>()
  for (const event of events) {
    if (event.type !== 'tool_call' && event.type !== 'tool_result') continue
    const call = calls.get(event.toolCallId) ?? { made: false, madeEnded: false, ended: false }
    calls.set(event.toolCallId, call)
    if (event.type === 'tool_call') call.made = true
    else {
      call.ended = true
      if (call.made) call.madeEnded = true
    }
  }
  return calls
}

interface Asked {
  tool: string | null
  expires: number | null
  request: number | null
  progress: number | null
  response: number | null
  delivered: boolean
  /** `null` where the append does not change it. */
  pending: boolean | null
}

/** What an append says of its interactions, by the place of each event in it. */
function askedOf(events: SessionEvent[]): Map<string, Asked> {
  const asked = new Map<string, Asked>()
  const of = (id: string) => {
    const none = {
      tool: null,
      expires: null,
      request: null,
      progress: null,
      response: null,
      delivered: false,
      pending: null,
    }
    const item: Asked = asked.get(id) ?? none
    asked.set(id, item)
    return item
  }
  for (const [index, event] of events.entries()) {
    switch (event.type) {
      case 'interaction_request':
        Object.assign(of(event.interactionId), {
          tool: keyText(event.toolCallId),
          // One that is kept past its time has no deadline that anybody must see to.
          expires: event.onTimeout === 'keep' ? null : (event.expiresAt ?? null),
          request: index,
        })
        break
      case 'interaction_progress':
        of(event.interactionId).progress = index
        break
      case 'interaction_response':
        of(event.interactionId).response = index
        break
      case 'interaction_delivered':
        of(event.interactionId).delivered = true
        break
      default:
    }
  }
  for (const [id, pending] of pendingChanges(events)) of(id).pending = pending
  return asked
}
