import { storeFailure, type WriteOutcome } from '@askback/core/store'
import { AskbackError, errorMessage } from '@askback/protocol'

/** Makes an error for people out of one of the server, the client library or the network. */
export function failure(error: unknown, address: string, outcome?: WriteOutcome): AskbackError {
  return storeFailure(error, address, reasonOf, outcome)
}

function reasonOf(error: unknown): string {
  const code = codeOf(error)
  return reasons[code] ?? reasons[code.slice(0, 2)] ?? reasonByMessage(messageOf(error))
}

/** The SQLSTATE, or the code of the operating system. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0])
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** Whether the server itself rejected a statement. Then nothing of it was written. */
export function wasRejected(error: unknown): boolean {
  const code = codeOf(error)
  return /^[0-9A-Z]{5}$/.test(code) && !isUnreachable(error)
}

/** Whether two transactions conflicted (serialization failure or deadlock). Then the same statement may be sent again. */
export function isConflict(error: unknown): boolean {
  return ['40001', '40P01'].includes(codeOf(error))
}

/** Whether the server cannot be reached, is starting or stopping, or accepts no more connections: a retry may succeed. */
export function isUnreachable(error: unknown): boolean {
  const code = codeOf(error)
  if (code === '') return !(error instanceof AskbackError)
  return UNREACHABLE.has(code) || code.startsWith('08')
}

const UNREACHABLE = new Set([
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
  const message = errorMessage(error)
  return message.replace(/\.$/, '')
}

/** Errors of the client library have no code. */
function reasonByMessage(message: string): string {
  if (/timeout/i.test(message)) return reasons['ETIMEDOUT']!
  if (/terminated/i.test(message)) return reasons['ECONNRESET']!
  return `failed: ${message}`
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
