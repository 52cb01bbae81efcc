import { AskbackError } from '@askback/protocol'

export type Outcome = 'not_written' | 'unknown'

/** One sentence that says what is wrong with the database, what to do and, for a write, whether it can have happened. */
export function failure(error: unknown, where: string, outcome?: Outcome): AskbackError {
  if (error instanceof AskbackError) return error
  const code = codeOf(error)
  const because = reasons[code] ?? reasons[code.slice(0, 2)] ?? inWords(messageOf(error))
  const after = outcome ? ` ${outcomes[outcome]}` : ''
  return new AskbackError('unavailable', `The database ${where} ${because}.${after}`, {
    cause: error,
    ...(outcome && { details: { outcome } }),
  })
}

/** The SQLSTATE, or the code of the operating system. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0])
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** Whether the server itself refused a statement: then nothing of it was written. */
export function wasRefused(error: unknown): boolean {
  const code = codeOf(error)
  return /^[0-9A-Z]{5}$/.test(code) && !isLost(error)
}

/** Two writers were in each other's way: the same statement may be sent again. */
export function mayTryAgain(error: unknown): boolean {
  return ['40001', '40P01'].includes(codeOf(error))
}

/** The server is away, is starting or stopping, or has no room for one more connection: it may be back. */
export function isLost(error: unknown): boolean {
  const code = codeOf(error)
  if (code === '') return !(error instanceof AskbackError)
  return LOST.has(code) || code.startsWith('08')
}

const LOST = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
  '53300',
  '57P01',
  '57P02',
  '57P03',
])

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.replace(/\.$/, '')
}

/** The client itself names no code. */
function inWords(message: string): string {
  if (/timeout/i.test(message)) return reasons['ETIMEDOUT']!
  if (/terminated/i.test(message)) return reasons['ECONNRESET']!
  return `failed: ${message}`
}

const outcomes: Record<Outcome, string> = {
  not_written: 'Nothing was written.',
  unknown: 'Whether this write survives is not known.',
}

const reasons: Record<string, string> = {
  ECONNREFUSED: 'does not answer: start PostgreSQL there, or correct the address',
  ECONNRESET: 'ended the connection: see its log',
  EPIPE: 'ended the connection: see its log',
  ETIMEDOUT: 'does not answer: check the address and the network',
  EHOSTUNREACH: 'cannot be reached: check the address and the network',
  ENETUNREACH: 'cannot be reached: check the address and the network',
  ENOTFOUND: 'has an unknown host: correct the address',
  EAI_AGAIN: 'has a host whose name cannot be looked up now: check the network',
  ENOENT: 'has no socket there: start PostgreSQL, or correct the address',
  '28P01': 'refuses the password: correct it in the address, or set PGPASSWORD',
  '28000': 'refuses this user: correct the user, or allow it in pg_hba.conf',
  '3D000': 'does not exist: create it with createdb, or correct the name',
  '42501':
    'gives this user too few rights: grant it CREATE on the database, or let the owner of the schema start Askback once',
  '25006': 'is read-only: use the address of the primary',
  '53100': 'cannot grow: the disk is full',
  '53200': 'needs more memory than there is',
  '53300': 'has too many connections: raise max_connections, or run fewer gateways',
  '55P03': 'is busy: a write waited too long for another',
  '57014': 'took too long, and gave up',
  '57P01': 'is being stopped',
  '57P02': 'has crashed and restarts',
  '57P03': 'is starting: try again in a moment',
  '58': 'reported an error of its disk: see its log',
  XX: 'is damaged: see its log',
}
