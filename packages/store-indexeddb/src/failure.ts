import { storeFailure, type WriteOutcome } from '@askback/core/store'
import { errorMessage, type AskbackError } from '@askback/protocol'

/** Makes an error for people out of one of the browser. */
export function failure(error: unknown, name: string, outcome?: WriteOutcome): AskbackError {
  return storeFailure(error, name, reasonOf, outcome)
}

function reasonOf(error: unknown): string {
  const name = error instanceof Error || error instanceof DOMException ? error.name : ''
  return reasons[name] ?? `failed: ${errorMessage(error)}`
}

const BLOCKED =
  'cannot be used: the browser blocks storage for this page, for example in a private window or a sandboxed frame. Allow this site to store data, or use memoryStore(), which forgets everything with the page'

/** By the name of a `DOMException`. */
const reasons: Record<string, string> = {
  QuotaExceededError:
    'is full: the browser gives this site no more space. Free space on the device, or delete sessions',
  SecurityError: BLOCKED,
  NotAllowedError: BLOCKED,
  // What Firefox says in a private window.
  InvalidStateError: BLOCKED,
  NotFoundError: 'is not an Askback database: choose another name',
  DataError: 'is not an Askback database: choose another name',
  UnknownError: 'could not be read or written: the disk may be full or damaged',
  DataCloneError: 'cannot store a value that is not JSON',
}
