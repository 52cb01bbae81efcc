import { vi } from 'vitest'

/** Repeats the check until it succeeds. `expect.poll` does not work in concurrent tests: it may report to the wrong one. */
export function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: 45_000 })
}
