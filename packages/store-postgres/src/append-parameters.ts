import type { Append } from '@askback/core'
import {
  auditRows,
  indexedDeadline,
  interactionChanges,
  sessionChange,
  sessionInfo,
  splitMessage,
} from '@askback/core/store'
import type { SessionEvent } from '@askback/protocol'
import type { SqlValue } from './database.js'
import { keyText } from './stored-text.js'

/*
 * The function `append` of the database gets a batch of appends as columns: arrays in which the n-th elements belong together. An
 * append of a batch is called a job there, and rows of its keys, tool calls and interactions name it by its number, from 1. What
 * the rows say about an interaction is decided here, as in the other stores, by the rules of `records.ts` in core.
 */

type Cell = string | number | boolean | null

/** Returns the parameters of one call, in their order. */
export function appendParameters(appends: Append[]): SqlValue[] {
  const jobs = new Columns(10)
  const fences = new Columns(2)
  const keys = new Columns(4)
  const toolCalls = new Columns(5)
  const interactions = new Columns(9)
  const audit = new Columns(3)
  const lockOwners = new Columns(1)
  const isFenced = appends.some((append) => append.fence)
  for (const [index, append] of appends.entries()) {
    const job = index + 1
    jobs.add(...jobRow(append))
    const { fence } = append
    lockOwners.add(append.lockOwner ?? null)
    if (isFenced) fences.add(fence ? keyText(fence.key) : null, fence?.version ?? null)
    for (const [key, { value, ifAbsent = false }] of new Map(
      (append.kv ?? []).map((write) => [write.key, write]),
    ))
      keys.add(job, keyText(key), value === null ? null : JSON.stringify(value), ifAbsent)
    for (const [id, call] of toolCallChanges(append.events))
      toolCalls.add(job, keyText(id), call.isCalled, call.isCalledAndEnded, call.isEnded)
    for (const [id, change] of interactionChanges(append.events)) {
      const { request, progress, response, delivered, pending } = change
      const opened = request === null ? null : append.events[request]
      const [tool, expires] =
        opened?.type === 'interaction_request'
          ? [keyText(opened.toolCallId), indexedDeadline(opened)]
          : [null, null]
      interactions.add(job, keyText(id), tool, expires, request, progress, response, delivered, pending)
    }
    for (const { row, message } of append.events.flatMap(auditRows).map(splitMessage))
      audit.add(job, JSON.stringify(row), message === null ? null : JSON.stringify(message))
  }
  return [jobs, fences, keys, toolCalls, interactions, audit, lockOwners].flatMap(({ columns }) => columns)
}

class Columns {
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

interface ToolCallChange {
  isCalled: boolean
  isEnded: boolean
  /** Whether the call comes before its result in this append. A result alone ends only a call of an earlier append. */
  isCalledAndEnded: boolean
}

function toolCallChanges(events: SessionEvent[]): Map<string, ToolCallChange> {
  const calls = new Map<string, ToolCallChange>()
  for (const event of events) {
    if (event.type !== 'tool_call' && event.type !== 'tool_result') continue
    const call = calls.get(event.toolCallId) ?? { isCalled: false, isEnded: false, isCalledAndEnded: false }
    calls.set(event.toolCallId, call)
    if (event.type === 'tool_call') call.isCalled = true
    else {
      call.isEnded = true
      if (call.isCalled) call.isCalledAndEnded = true
    }
  }
  return calls
}
