export { fakeClock, type FakeClock } from '@askback/protocol/testing'

/** Returns `id1`, `id2` and so on, which are readable in a failing test. */
export function countingIds(prefix = 'id'): () => string {
  let count = 0
  return () => `${prefix}${++count}`
}
