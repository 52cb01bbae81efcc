import { AskbackError } from '@askback/protocol/errors'

/** What `parseArgs` has against the arguments, as one sentence; `null` for any other error. */
export function usageProblem(error: unknown): AskbackError | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null
  if (!error.code.startsWith('ERR_PARSE_ARGS')) return null
  const [sentence] = error.message.split(/(?<=\.)\s|\. /, 1)
  return new AskbackError('invalid_request', `${sentence?.replace(/\.$/, '')}. See askback --help.`)
}

export function usageError(message: string): AskbackError {
  return new AskbackError('invalid_request', `${message} See askback --help.`)
}
