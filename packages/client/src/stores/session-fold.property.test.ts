import { emptyState, fold, pendingOf, stateToJson, type NewEvent, type SessionEvent } from '@askback/protocol'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { createLayout, layout } from '../layout/layout.js'
import { over, says, turn } from '../layout/layout-cases.test.helper.js'
import type { LiveBlock } from '../layout/live-blocks.js'
import {
  asked,
  askedQuestion,
  called,
  ended,
  EventLog,
  settled,
  started,
  wrote,
} from '../testing/session-events.js'
import { SessionFold } from './session-fold.js'

const few = fc.integer({ min: 0, max: 4 })
const envelope = fc.record(
  { turnId: few.map((n) => `t${n}`), responseId: few.map((n) => `r${n}`) },
  { requiredKeys: [] },
)
const onCall = few.map((n) => ({ toolCallId: `c${n}` }))

/** Events of a log, including some that a desk would not write. */
const step: fc.Arbitrary<NewEvent[]> = fc.oneof(
  few.map((n) => [says(`message ${n}`)]),
  few.map((n) => [turn(`t${n}`)]),
  few.map((n) => [over(`t${n}`)]),
  fc.tuple(fc.uuid(), envelope).map(([id, at]) => [wrote(id, at)]),
  fc
    .tuple(few, few, envelope)
    .map(([n, parent, at]) => [
      called(`c${n}`, { ...at, ...(parent > 2 && { parentToolCallId: `c${parent}` }) }),
    ]),
  fc.tuple(few, fc.boolean()).map(([n, isError]) => [ended(`c${n}`, { isError })]),
  fc.tuple(few, envelope, onCall).map(([n, at, call]) => asked(`i${n}`, { ...at, ...call })),
  fc.tuple(few, envelope, onCall).map(([n, at, call]) => askedQuestion(`q${n}`, { ...at, ...call })),
  fc
    .tuple(
      few,
      fc.constantFrom('i', 'q'),
      fc.constantFrom('approved', 'denied', 'cancelled', 'superseded'),
      few,
    )
    .map(([n, kind, settlement, next]) =>
      settled(`${kind}${n}`, {
        settlement: settlement as 'approved',
        ...(settlement === 'superseded' && { supersededBy: `${kind}${next}` }),
      }),
    ),
)

const liveBlock: fc.Arbitrary<LiveBlock> = fc.oneof(
  few.map((n) => ({ type: 'text' as const, id: `live${n}`, text: `text ${n}` })),
  few.map((n) => ({ type: 'tool_call' as const, id: `live${n}`, toolName: 'Bash', text: '{' })),
  few.map((n) => ({ type: 'tool_output' as const, id: `c${n}`, text: `output ${n}` })),
)

const logs = fc.array(step, { maxLength: 60 }).map((steps) => {
  const log = new EventLog()
  log.append(started())
  for (const events of steps) log.append(...events)
  return log.events
})

it('laying out event by event gives the layout of the whole log', () => {
  const unfinished = fc.array(liveBlock, { maxLength: 3 })
  fc.assert(
    fc.property(logs, fc.infiniteStream(unfinished), (events, blocks) => {
      const draw = createLayout()
      let state = emptyState('s1')
      for (const event of events) {
        state = fold(state, [event])
        const live = blocks.next().value as LiveBlock[]
        const drawn = draw(state, live)
        expect(drawn).toEqual(layout(state, live))
        expect(draw(state, [...live])).toEqual(drawn)
      }
    }),
    { numRuns: 150 },
  )
})

it('every pending interaction has exactly one card', () => {
  fc.assert(
    fc.property(logs, (events) => {
      const state = fold(emptyState('s1'), events)
      const shown = [...JSON.stringify(layout(state)).matchAll(/"key":"interaction:([^"]+)"/g)].map(
        ([, id]) => id,
      )
      for (const { interactionId } of pendingOf(state))
        expect(shown.filter((each) => each === interactionId)).toHaveLength(1)
    }),
    { numRuns: 300 },
  )
})

it('events in any order, any number of times, give the same state', () => {
  const delivery = logs.chain((events) =>
    fc.tuple(
      fc.constant(events),
      fc.nat({ max: events.length - 1 }),
      fc.shuffledSubarray([...events, ...events], { minLength: events.length * 2 }),
    ),
  )
  fc.assert(
    fc.property(delivery, ([events, known, delivered]) => {
      const folded = new SessionFold()
      folded.load(snapshotOf(events.slice(0, known)))
      for (const event of delivered) folded.add([event])
      expect(folded.hasGap).toBe(false)
      expect(stateToJson(folded.state!)).toEqual(
        stateToJson(fold(emptyState('s1'), events, { turnsKept: Infinity })),
      )
    }),
    { numRuns: 100 },
  )
})

it('loading older pages gives the state of the whole log, and keeps the identity of what was there', () => {
  const pagedLogs = logs.chain((events) => fc.tuple(fc.constant(events), fc.integer({ min: 1, max: 20 })))
  fc.assert(
    fc.property(pagedLogs, ([events, page]) => {
      const folded = new SessionFold()
      folded.load(snapshotOf(events))
      const draw = createLayout()
      const wholeState = fold(emptyState('s1'), events, { turnsKept: Infinity })
      for (let isMore = true; isMore;) {
        const end = folded.startOfHistory()
        const older = events.filter(({ seq }) => seq < end).slice(-page)
        const before = folded.state!
        folded.prepend(end, older)
        const { state } = folded
        expect(draw(state!)).toEqual(layout(state!))
        // What is pending is known from the snapshot on, whether or not its request is on a page that was loaded.
        expect([...state!.pendingIds].toSorted()).toEqual([...wholeState.pendingIds].toSorted())
        for (const [id, call] of state!.toolCalls) {
          const was = before.toolCalls.get(id)
          if (was && was !== call) expect(call).not.toEqual(was)
        }
        isMore = older.length > 0
      }
      expect(stateToJson(folded.state!)).toEqual(stateToJson(wholeState))
    }),
    { numRuns: 150 },
  )
})

function snapshotOf(events: SessionEvent[]) {
  const state = fold(emptyState('s1'), events)
  const { seq, logId } = state
  const session = { id: 's1', agent: null, title: null, cwd: null, createdAt: 0 }
  return {
    session: { ...session, status: 'idle' as const, permissionMode: 'default' as const },
    state: stateToJson(state),
    seq,
    now: 0,
    logId,
    live: [],
  }
}

it('a page of older turns keeps what was asked before that page pending', () => {
  const log = new EventLog()
  log.append(started({ agent: 'demo' }), turn('first'), ...asked('i1', { turnId: 'first' }))
  for (let n = 0; n < 40; n++) log.append(turn(`t${n}`), says(`message ${n}`, `t${n}`))
  const { events } = log
  const folded = new SessionFold()
  folded.load(snapshotOf(events))
  const shownBefore = folded.state!.turns.length
  const end = folded.startOfHistory()
  // Everything but the turn that asked.
  folded.prepend(end, events.slice(-60))
  const state = folded.state!
  expect(state.turns.length).toBeGreaterThan(shownBefore)
  expect([...state.pendingIds]).toEqual(['i1'])
  expect(state.status).toBe('waiting')
})
