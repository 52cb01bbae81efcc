import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { NewEvent, SessionEvent } from './events.js'
import { fold, foldInto, reduce } from './reduce.js'
import { statusOf } from './session.js'
import {
  emptyState,
  pendingOf,
  stateFromJson,
  stateToJson,
  type SessionState,
  type SessionStateJson,
} from './state.js'

const moves = [
  ['message', 6],
  ['begin', 16],
  ['finish', 16],
  ['text', 3],
  ['call', 4],
  ['result', 3],
  ['ask', 8],
  ['answer', 6],
  ['supersede', 2],
  ['progress', 2],
  ['deliver', 2],
  ['mode', 1],
  ['agent', 1],
  ['clear', 1],
  ['error', 1],
  ['unknown', 1],
] as const
type Move = (typeof moves)[number][0]

interface Step {
  move: Move
  /** Picks among what there is. */
  pick: number
  /** Whether the event names its turn, and if so, perhaps an old one. */
  turn: 'none' | 'open' | 'old'
}

const step = fc.record<Step>({
  move: fc.oneof(...moves.map(([move, weight]) => ({ arbitrary: fc.constant(move), weight }))),
  pick: fc.nat(1000),
  turn: fc.constantFrom('none', 'open', 'open', 'old'),
})

/** Logs as a desk would write them, long enough to leave the window. */
const logs = fc
  .tuple(fc.boolean(), fc.array(step, { minLength: 1, maxLength: 300, size: 'max' }))
  .map(([hasAgent, steps]) => logOf(steps, hasAgent))

describe('live equals replay', () => {
  it('one by one, at once, in place and in pieces come to the same', () => {
    fc.assert(
      fc.property(logs, fc.nat(), (log, cut) => {
        const all = fold(emptyState('s1'), log)
        expect(exact(log.reduce(reduce, emptyState('s1')))).toEqual(exact(all))

        const owned = emptyState('s1')
        foldInto(owned, log)
        expect(exact(owned)).toEqual(exact(all))

        const at = cut % (log.length + 1)
        expect(exact(fold(fold(emptyState('s1'), log.slice(0, at)), log.slice(at)))).toEqual(exact(all))
      }),
      { numRuns: 300 },
    )
  })

  it('from any snapshot, fold(snapshot, rest) = fold(all)', () => {
    fc.assert(
      fc.property(logs, fc.nat(), (log, cut) => {
        const at = cut % (log.length + 1)
        const snapshot = JSON.stringify(stateToJson(fold(emptyState('s1'), log.slice(0, at))))
        const restored = stateFromJson(JSON.parse(snapshot) as SessionStateJson)
        const all = fold(emptyState('s1'), log)
        const replayed = fold(restored, log.slice(at))
        expect(exact(replayed)).toEqual(exact(all))
        expect(JSON.stringify(stateToJson(replayed))).toBe(JSON.stringify(stateToJson(all)))
      }),
      { numRuns: 300 },
    )
  })

  it('events that come twice, late or early change nothing', () => {
    const noise = fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 30 })
    fc.assert(
      fc.property(logs, noise, (log, extra) => {
        const noisy = [...log]
        for (const [at, which] of extra) noisy.splice(at % (noisy.length + 1), 0, log[which % log.length]!)
        const all = fold(emptyState('s1'), log)
        expect(exact(fold(emptyState('s1'), noisy))).toEqual(exact(all))
        const owned = emptyState('s1')
        foldInto(owned, noisy)
        expect(exact(owned)).toEqual(exact(all))
      }),
      { numRuns: 300 },
    )
  })

  it('fold never changes the state or the events it is given', () => {
    fc.assert(
      fc.property(logs, fc.nat(), (log, cut) => {
        const at = cut % (log.length + 1)
        deepFreeze(log)
        const before = fold(emptyState('s1'), log.slice(0, at))
        const copy = structuredClone(before)
        deepFreeze(before)
        fold(before, log.slice(at))
        for (const event of log.slice(at, at + 3)) reduce(before, event)
        expect(before).toEqual(copy)
      }),
      { numRuns: 300 },
    )
  })
})

describe('what always holds', () => {
  it('pending is what was asked and not settled, oldest first; status follows from it; the window is bounded', () => {
    fc.assert(
      fc.property(logs, (log) => {
        const state = fold(emptyState('s1'), log)
        const open = new Set<string>()
        for (const event of log) {
          if (event.type !== 'interaction_pending') continue
          if (event.pending) open.add(event.interactionId)
          else open.delete(event.interactionId)
        }
        expect(pendingOf(state).map((item) => item.interactionId)).toEqual([...open])
        expect(state.pendingIds).toEqual(open)
        expect(state.seq).toBe(log.length)
        const { agent, activeTurnId, failed, ended, pendingIds } = state
        expect(state.status).toBe(
          statusOf({ agent, turnActive: activeTurnId !== null, pending: pendingIds.size, failed, ended }),
        )
        expectWindow(state)
      }),
      { numRuns: 300 },
    )
  })

  it('[L2] every interaction_pending:true is closed at most once, and status never looks at anything else', () => {
    fc.assert(
      fc.property(logs, (log) => {
        const rest = log.map((event) =>
          event.type === 'interaction_request' || event.type === 'interaction_response'
            ? ({ ...event, type: 'weather_report' } as unknown as SessionEvent)
            : event,
        )
        const [all, without] = [fold(emptyState('s1'), log), fold(emptyState('s1'), rest)]
        expect([without.status, without.pendingIds]).toEqual([all.status, all.pendingIds])
      }),
      { numRuns: 300 },
    )
  })

  it('[L2] a log without interaction_pending:false for superseded ones folds to the same state', () => {
    fc.assert(
      fc.property(logs, (log) => {
        const isLeftOut = (event: SessionEvent) =>
          event.type === 'interaction_pending' && event.reason === 'superseded'
        const old = log
          .filter((event) => !isLeftOut(event))
          .map((event, index) => ({ ...event, seq: index + 1 }))
        const [now, before] = [fold(emptyState('s1'), log), fold(emptyState('s1'), old)]
        expect(withoutSeq(before)).toEqual(withoutSeq(now))
      }),
      { numRuns: 300 },
    )
  })
})

/** An old log has fewer events, so that only the order of what it holds can be compared. */
function withoutSeq(state: SessionState): unknown {
  return JSON.parse(
    JSON.stringify(exact(state), (key, value: unknown) => (key === 'seq' ? undefined : value)),
  )
}

function expectWindow(state: SessionState): void {
  expect(state.turns.length).toBeLessThanOrEqual(21)
  const items = state.turns.flatMap((turn) => turn.items)
  const calls = items.flatMap((item) => (item.type === 'tool_call' ? [item.toolCallId] : []))
  const asked = items.flatMap((item) => (item.type === 'interaction' ? [item.interactionId] : []))
  expect(new Set(state.toolCalls.keys())).toEqual(new Set([...calls, ...state.callsAdrift]))
  expect(calls.some((id) => state.callsAdrift.has(id))).toBe(false)
  expect(state.callsAdrift.size).toBeLessThanOrEqual(50)
  expect(new Set(state.interactions.keys())).toEqual(new Set([...asked, ...state.adrift]))
  expect(asked.some((id) => state.adrift.has(id))).toBe(false)
}

/** Maps and sets as lists, so that their order counts, where it has a meaning. */
function exact(state: SessionState): unknown {
  const { toolCalls, interactions, pendingIds, adrift, callsAdrift, ...rest } = state
  return {
    ...rest,
    pendingIds: [...pendingIds].sort(),
    toolCalls: [...toolCalls],
    interactions: [...interactions],
    adrift: [...adrift].sort(),
    callsAdrift: [...callsAdrift].sort(),
  }
}

function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  if (value instanceof Map || value instanceof Set) for (const item of value.values()) deepFreeze(item)
  else Object.freeze(value)
  for (const item of Object.values(value)) deepFreeze(item)
}

function logOf(steps: Step[], hasAgent: boolean): SessionEvent[] {
  const log: SessionEvent[] = []
  const turns: string[] = []
  const calls: string[] = []
  const pending: string[] = []
  const asked: string[] = []
  let open: string | null = null

  const push = (event: NewEvent) => {
    const seq = log.length + 1
    log.push({ seq, id: `e${seq}`, sessionId: 's1', at: seq * 10, ...event })
  }
  const take = (list: string[], pick: number) => list[pick % list.length]
  const ask = (interactionId: string, place: { turnId?: string }, toolCallId: string) => {
    const anchored = { interactionId, toolCallId, toolName: 'Bash', ...place }
    push({
      type: 'interaction_pending',
      ...anchored,
      pending: true,
      presentation: 'tool',
      reason: 'requested',
    })
    push({
      type: 'interaction_request',
      ...anchored,
      kind: 'approval',
      presentation: 'tool',
      request: { input: interactionId },
      digest: 'd',
      requestedAt: log.length,
      onTimeout: 'deny',
    })
    pending.push(interactionId)
    asked.push(interactionId)
  }
  const settle = (
    interactionId: string,
    more: { settlement: 'denied' } | { settlement: 'superseded'; supersededBy: string },
  ) => {
    const anchored = { interactionId, toolCallId: `t-${interactionId}`, toolName: 'Bash' }
    push({ type: 'interaction_response', ...anchored, kind: 'approval', digest: 'd', ...more })
    push({
      type: 'interaction_pending',
      ...anchored,
      pending: false,
      presentation: 'tool',
      reason: more.settlement,
    })
    pending.splice(pending.indexOf(interactionId), 1)
  }

  push({ type: 'session_started', agent: hasAgent ? 'demo' : null, permissionMode: 'default' })
  for (const [index, { move, pick, turn }] of steps.entries()) {
    const turnId = turn === 'old' ? take(turns, pick) : turn === 'open' ? (open ?? undefined) : undefined
    const place = turnId === undefined ? {} : { turnId }
    const chosen = take(pending, pick)
    switch (move) {
      case 'message':
        push({ type: 'user_message', text: `${index}`, by: { id: 'ada' }, ...place })
        break
      case 'begin':
        if (open !== null) break
        open = `u${index}`
        turns.push(open)
        push({ type: 'turn_started', turnId: open })
        break
      case 'finish':
        if (open === null) break
        push({ type: 'turn_ended', turnId: open, reason: 'done' })
        open = null
        break
      case 'text':
        push({ type: 'text', blockId: `b${index}`, text: 'x', ...place })
        break
      case 'call':
        calls.push(`t${index}`)
        push({ type: 'tool_call', toolCallId: `t${index}`, toolName: 'Bash', input: { pick }, ...place })
        break
      case 'result':
        if (calls.length > 0)
          push({
            type: 'tool_result',
            toolCallId: take(calls, pick)!,
            output: pick,
            isError: false,
            ...place,
          })
        break
      case 'ask':
        ask(`i${index}`, place, take(calls, pick) ?? `t-i${index}`)
        break
      case 'answer':
        if (chosen !== undefined) settle(chosen, { settlement: 'denied' })
        break
      case 'supersede':
        if (chosen === undefined) break
        settle(chosen, { settlement: 'superseded', supersededBy: `i${index}` })
        ask(`i${index}`, place, `t-${chosen}`)
        break
      case 'progress':
        if (chosen !== undefined)
          push({ type: 'interaction_progress', interactionId: chosen, answers: [{ selected: [] }] })
        break
      case 'deliver':
        if (asked.length > 0)
          push({
            type: 'interaction_delivered',
            interactionId: take(asked, pick)!,
            toolCallId: 't',
            to: 'agent',
          })
        break
      case 'mode':
        push({ type: 'session_status', status: 'idle', permissionMode: pick % 2 ? 'plan' : 'default' })
        break
      case 'agent':
        push({ type: 'agent_session', agentSessionId: `a${index}` })
        break
      case 'clear':
        push({ type: 'context_cleared' })
        break
      case 'error':
        push({ type: 'error', code: 'x', message: 'y', fatal: pick % 2 === 0 })
        break
      case 'unknown':
        push({ type: 'weather_report' } as unknown as NewEvent)
        break
      default:
        move satisfies never
    }
  }
  return log
}
