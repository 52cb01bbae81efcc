import type { Actor } from '@askback/protocol'
import type { AuthenticatedActor } from '../access/embedder.js'
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** The credential of a person, who may do everything. `via` says how it was sent: as a browser's cookie, or as a token. */
export interface PersonCredential {
  readonly kind: 'person'
  /** The same for all tokens, or all logins, of a person. It scopes idempotency keys, and is the `openedBy` of interactions. */
  readonly id: string
  /** Identifies this one token or login. Streams and long polls that were opened with it end when it is revoked. */
  readonly key: string
  readonly by: Actor
  readonly via: 'web' | 'http'
  readonly external?: ExternalActor
}

/** The credential of an agent, which may open interactions and read their settlements. */
export interface AgentCredential {
  readonly kind: 'agent'
  readonly id: string
  readonly key: string
  /** The only session that it is for; `null` for all sessions of outside agents. */
  readonly sessionId: string | null
  readonly external?: ExternalActor
}

/** Set if not Askback, but the program that embeds it has signed the caller in. */
export interface ExternalActor {
  readonly actor: AuthenticatedActor
  /** When the request was authenticated. */
  readonly at: number
}

export type Credential = PersonCredential | AgentCredential

export const OUTSIDE_AGENTS: AgentCredential = {
  kind: 'agent',
  id: 'agents',
  key: 'agents',
  sessionId: null,
}

export function personCredential(by: Actor, via: PersonCredential['via'], key: string): PersonCredential {
  return { kind: 'person', id: `${via === 'web' ? 'cookie' : 'person'}:${by.id}`, key, by, via }
}

const SESSION_TOKEN_PREFIX = 'askback_session_'

/** The token of a session's agent. It is derived from the session's id and a secret, so that none has to be stored. */
export function sessionToken(secret: string, sessionId: string): string {
  return `${SESSION_TOKEN_PREFIX}${sessionId}.${macOf(secret, `session ${sessionId}`)}`
}

export function findSessionToken(secret: string, token: string): AgentCredential | null {
  if (!token.startsWith(SESSION_TOKEN_PREFIX)) return null
  const sessionId = token.slice(SESSION_TOKEN_PREFIX.length, token.lastIndexOf('.'))
  if (!isSameText(token, sessionToken(secret, sessionId))) return null
  const id = `agent:${sessionId}`
  return { kind: 'agent', id, key: id, sessionId }
}

/**
 * What a repeated request has in common with the first one. `secret` is what the caller itself sent (its token or proof): if new
 * secrets were derived from anything in the store, a reader of the store could derive them, too.
 */
export interface SecretSeed {
  secret: string
  key: string
}

/**
 * Creates a secret of 256 bits.
 *
 * @param prefix - tells what a leaked secret is for
 * @internal
 */
export function createSecret(prefix: string): string {
  return `${prefix}_${randomBytes(32).toString('base64url')}`
}

/**
 * The same seed gives the same secret, so that a repeated request gets what the first one got, although only a hash was stored.
 * Without a seed the secret is random.
 */
export function createSecretFrom(seed: SecretSeed | undefined, prefix: string, purpose: string): string {
  return seed === undefined
    ? createSecret(prefix)
    : `${prefix}_${macOf(seed.secret, `${purpose} ${seed.key}`)}`
}

/** What is stored of a token. A lookup by hash leaks nothing by the time that it takes. */
export function hashOf(token: string): string {
  return hash('sha256', token, 'hex')
}

export function macOf(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url')
}

/** Compares bytes in constant time: two strings of the same length may have different numbers of bytes. */
export function isSameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
