import type { AgentAdapter } from '@askback/core'

/** An agent that ends each turn at once. */
export const quickAgent: AgentAdapter = {
  id: 'quick',
  name: 'Quick',
  check: () => Promise.resolve({ available: true }),
  start: (context) =>
    Promise.resolve({
      send: ({ turnId }) => context.report({ type: 'turn_ended', turnId, reason: 'done' }),
      interrupt: () => Promise.resolve(),
      setPermissionMode: () => Promise.resolve(),
      stop: () => Promise.resolve(),
      ended: new Promise<never>(() => undefined),
    }),
}

/** An agent that is not installed. */
export const missingAgent: AgentAdapter = {
  id: 'missing',
  name: 'Missing',
  check: () => Promise.resolve({ available: false, reason: 'It is not installed.' }),
  start: () => Promise.reject(new Error('It is not installed.')),
}

/** Polls until there is a result, with one turn of the event loop in between. */
export async function until<T>(look: () => Promise<T | null>): Promise<T> {
  for (;;) {
    const found = await look()
    await new Promise((resolve) => setImmediate(resolve))
    if (found) return found
  }
}
