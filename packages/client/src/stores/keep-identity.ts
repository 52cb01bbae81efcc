import type { SessionState } from '@askback/protocol'

/**
 * `next`, folded from the same events as `before` and some older ones, with every turn, call and interaction that came out
 * the same replaced by that of `before`: what did not change is not laid out and drawn again.
 */
export function keepIdentity(before: SessionState, next: SessionState): SessionState {
  const turns = new Map(before.turns.map((turn) => [turn.key, turn]))
  return {
    ...next,
    turns: next.turns.map((turn) => kept(turns.get(turn.key), turn)),
    toolCalls: keptValues(before.toolCalls, next.toolCalls),
    interactions: keptValues(before.interactions, next.interactions),
  }
}

function keptValues<T>(before: ReadonlyMap<string, T>, next: ReadonlyMap<string, T>): Map<string, T> {
  return new Map([...next].map(([key, value]) => [key, kept(before.get(key), value)]))
}

function kept<T>(before: T | undefined, next: T): T {
  return before !== undefined && isSame(before, next, DEPTH) ? before : next
}

/** A turn, its items, one item: what lies deeper comes from the event itself, and is the same object. */
const DEPTH = 3

function isSame(one: unknown, other: unknown, depth: number): boolean {
  if (Object.is(one, other)) return true
  if (depth === 0 || typeof one !== 'object' || typeof other !== 'object' || !one || !other) return false
  const names = Object.keys(one)
  if (names.length !== Object.keys(other).length) return false
  return names.every(
    (name) =>
      Object.hasOwn(other, name) &&
      isSame(one[name as keyof typeof one], other[name as keyof typeof other], depth - 1),
  )
}
