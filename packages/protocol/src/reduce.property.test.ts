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

/** What a step of a generated log does, and how often. */
const actions = [
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
type StepAction = (typeof actions)[number][0]

interface GeneratedStep {
  action: StepAction
  /** Selects one of the calls or interactions that exist. */
  pick: number
  /** Whether the event names its turn, and if so, perhaps an old one. */
  turn: 'none' | 'open' | 'old'
}

const step = fc.record<GeneratedStep>({
  action: fc.oneof(...actions.map(([action, weight]) => ({ arbitrary: fc.constant(action), weight }))),
  pick: fc.nat(1000),
  turn: fc.constantFrom('none', 'open', 'open', 'old'),
})

/** Logs that a desk could have written, long enough for turns to leave the window. */
const logs = fc
  .tuple(fc.boolean(), fc.array(step, { minLength: 1, maxLength: 300, size: 'max' }))
  .map(([hasAgent, steps]) => logOf(steps, hasAgent))

describe('live equals replay', () => {
  it('folding one by one, at once, in place or in two parts gives the same state', () => {
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

  it('events that arrive twice, late or early change nothing', () => {
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

describe('invariants', () => {
  it('what was opened and not closed is pending, oldest first; the status follows from it; the window is bounded', () => {
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

  it('[L2] status and pending do not depend on requests and responses', () => {
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

  it('[L2] a log without interaction_pending: false for superseded interactions folds to the same state', () => {
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

/** An old log has fewer events, so its `seq` values differ. */
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
  expect(new Set(state.toolCalls.keys())).toEqual(new Set([...calls, ...state.callsOutsideWindow]))
  expect(calls.some((id) => state.callsOutsideWindow.has(id))).toBe(false)
  expect(state.callsOutsideWindow.size).toBeLessThanOrEqual(50)
  expect(new Set(state.interactions.keys())).toEqual(new Set([...asked, ...state.pendingOutsideWindow]))
  expect(asked.some((id) => state.pendingOutsideWindow.has(id))).toBe(false)
}

/** Maps as lists, so that their order is compared; the order of the sets has no meaning. */
function exact(state: SessionState): unknown {
  const { toolCalls, interactions, pendingIds, pendingOutsideWindow, callsOutsideWindow, ...rest } = state
  return {
    ...rest,
    pendingIds: [...pendingIds].sort(),
    toolCalls: [...toolCalls],
    interactions: [...interactions],
    pendingOutsideWindow: [...pendingOutsideWindow].sort(),
    callsOutsideWindow: [...callsOutsideWindow].sort(),
  }
}

function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  if (value instanceof Map || value instanceof Set) for (const item of value.values()) deepFreeze(item)
  else Object.freeze(value)
  for (const item of Object.values(value)) deepFreeze(item)
}

function logOf(steps: GeneratedStep[], hasAgent: boolean): SessionEvent[] {
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
  const select = (list: string[], pick: number) => list[pick % list.length]
  const ask = (interactionId: string, turnOf: { turnId?: string }, toolCallId: string) => {
    const anchored = { interactionId, toolCallId, toolName: 'Bash', ...turnOf }
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
  for (const [index, { action, pick, turn }] of steps.entries()) {
    const turnId = turn === 'old' ? select(turns, pick) : turn === 'open' ? (open ?? undefined) : undefined
    const turnOf = turnId === undefined ? {} : { turnId }
    const chosen = select(pending, pick)
    switch (action) {
      case 'message':
        push({ type: 'user_message', text: `${index}`, by: { id: 'ada' }, ...turnOf })
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
        push({ type: 'text', blockId: `b${index}`, text: 'x', ...turnOf })
        break
      case 'call':
        calls.push(`t${index}`)
        push({ type: 'tool_call', toolCallId: `t${index}`, toolName: 'Bash', input: { pick }, ...turnOf })
        break
      case 'result':
        if (calls.length > 0)
          push({
            type: 'tool_result',
            toolCallId: select(calls, pick)!,
            output: pick,
            isError: false,
            ...turnOf,
          })
        break
      case 'ask':
        ask(`i${index}`, turnOf, select(calls, pick) ?? `t-i${index}`)
        break
      case 'answer':
        if (chosen !== undefined) settle(chosen, { settlement: 'denied' })
        break
      case 'supersede':
        if (chosen === undefined) break
        settle(chosen, { settlement: 'superseded', supersededBy: `i${index}` })
        ask(`i${index}`, turnOf, `t-${chosen}`)
        break
      case 'progress':
        if (chosen !== undefined)
          push({ type: 'interaction_progress', interactionId: chosen, answers: [{ selected: [] }] })
        break
      case 'deliver':
        if (asked.length > 0)
          push({
            type: 'interaction_delivered',
            interactionId: select(asked, pick)!,
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
        action satisfies never
    }
  }
  return log
}
