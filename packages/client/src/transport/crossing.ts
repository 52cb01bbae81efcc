import { AskbackError } from '@askback/protocol'

/** Calls into the host as if over a wire: what comes back is a copy, and what goes wrong is one of our errors. */
export async function crossing<T>(call: () => Promise<T>): Promise<T> {
  try {
    return copy(await call())
  } catch (error) {
    throw crossed(error)
  }
}

export function crossed(error: unknown): AskbackError {
  if (!(error instanceof AskbackError)) {
    return new AskbackError('internal', 'Something went wrong in the host.', { cause: error })
  }
  const { code, message, details } = error
  return new AskbackError(code, message, { details: copy(details) })
}

export function copy<T>(value: T): T {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T)
}
