import type { SessionEvent } from '@askback/protocol'
import { emptyState, fold, stateToJson } from '@askback/protocol'
import { expect, it } from 'vitest'
import type { SessionSnapshot } from '../transport/transport.js'
import { SessionFold } from './session-fold.js'

/** A log with this many messages; `name` tells the events of two logs apart. */
function logOf(name: string, messages: number): SessionEvent[] {
  const envelope = (seq: number) => ({ seq, id: `${name}${seq}`, sessionId: 's', at: seq })
  return [
    { ...envelope(1), type: 'session_started', agent: null, permissionMode: 'default' },
    ...Array.from({ length: messages }, (_, index) => ({
      ...envelope(index + 2),
      type: 'user_message' as const,
      text: `${name} ${index + 2}`,
      by: { id: 'ada' },
    })),
  ]
}

function snapshotOf(events: SessionEvent[]): SessionSnapshot {
  const state = fold(emptyState('s'), events)
  return {
    state: stateToJson(state),
    seq: state.seq,
    logId: state.logId,
    live: [],
  } as unknown as SessionSnapshot
}

it('an early event of a deleted log is not folded into the next log', () => {
  const [old, next] = [logOf('old', 2), logOf('new', 2)]
  const session = new SessionFold()
  session.load(snapshotOf(old.slice(0, 1)))
  // The events in the reply to a write may come before those of the stream.
  session.add([old[2]!])
  session.load(snapshotOf(next.slice(0, 1)))
  for (const event of next.slice(1)) session.add([event])
  const shown = JSON.stringify(session.state!.turns)
  expect(shown).toContain('new 3')
  expect(shown).not.toContain('old')
})

it('an early event of the same log stays buffered over a new snapshot', () => {
  const log = logOf('same', 3)
  const session = new SessionFold()
  session.load(snapshotOf(log.slice(0, 1)))
  session.add([log[3]!])
  session.load(snapshotOf(log.slice(0, 3)))
  expect(session.state!.seq).toBe(4)
})
