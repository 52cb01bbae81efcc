import { AskbackError } from '@askback/protocol'

/** Calls into the host as if over a wire: the result is a copy, and every error is an `AskbackError`. */
export async function throughWire<T>(call: () => Promise<T>): Promise<T> {
  try {
    return wireCopy(await call())
  } catch (error) {
    throw wireError(error)
  }
}

export function wireError(error: unknown): AskbackError {
  if (!(error instanceof AskbackError)) {
    return new AskbackError('internal', 'Something went wrong in the host.', { cause: error })
  }
  const { code, message, details } = error
  return new AskbackError(code, message, { details: wireCopy(details) })
}

export function wireCopy<T>(value: T): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a copy has the type of the original
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T)
}
