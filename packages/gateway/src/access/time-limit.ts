import type { Clock } from '@askback/core'

/** Rejects if the embedder's function throws, rejects, or does not answer within `ms` milliseconds. */
export async function withinTime<T>(
  clock: Clock,
  ms: number,
  what: string,
  act: () => T | Promise<T>,
): Promise<T> {
  let cancel = () => {}
  const late = new Promise<never>((_, reject) => {
    cancel = clock.alarm(clock.now() + ms, () => reject(new Error(`${what} did not answer within ${ms} ms.`)))
  })
  try {
    return await Promise.race([act(), late])
  } finally {
    cancel()
  }
}
