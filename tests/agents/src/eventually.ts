import { vi } from 'vitest'

/** Looks until it holds. `expect.poll` takes the wrong test for its own where several run at once. */
export function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: 45_000 })
}
