import { AskbackError } from '@askback/protocol'

/** After an error: whether a write can have happened. */
export type WriteOutcome = 'not_written' | 'unknown'

const SENTENCES: Record<WriteOutcome, string> = {
  not_written: 'Nothing was written.',
  unknown: 'Whether this write survives is not known.',
}

/**
 * Turns the error of a database engine into one that a person can act on: what is wrong, what to do and, for a write, whether it
 * can have happened. An `AskbackError` is returned as it is.
 *
 * @param database its path or address, without a password
 * @param reasonOf what is wrong and what to do, as a predicate without a full stop: `is read-only: use the primary`
 */
export function storeFailure(
  error: unknown,
  database: string,
  reasonOf: (error: unknown) => string,
  outcome?: WriteOutcome,
): AskbackError {
  if (error instanceof AskbackError) return error
  const sentence = outcome ? ` ${SENTENCES[outcome]}` : ''
  return new AskbackError('unavailable', `The database ${database} ${reasonOf(error)}.${sentence}`, {
    cause: error,
    ...(outcome && { details: { outcome } }),
  })
}
