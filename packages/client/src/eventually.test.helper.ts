import { vi } from 'vitest'

/** Waits until `check` passes, however long a loaded machine takes. */
export function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: 60_000 })
}
