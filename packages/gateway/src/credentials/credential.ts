import type { Actor } from '@askback/protocol'
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** A person may do everything. `via` is how they came: a browser's cookie, or a token. */
export interface PersonCredential {
  readonly kind: 'person'
  /** Names the credential, not the person: the scope of idempotency keys, and who opened an interaction. */
  readonly id: string
  /** Identifies this one token or login: whatever it has opened is closed when it is revoked. */
  readonly key: string
  readonly by: Actor
  readonly via: 'web' | 'http'
}

/** An agent asks, and reads what became of it. */
export interface AgentCredential {
  readonly kind: 'agent'
  readonly id: string
  readonly key: string
  /** The only session it is for; `null` for all sessions of outside agents. */
  readonly sessionId: string | null
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

export function sessionCredential(sessionId: string): AgentCredential {
  const id = `agent:${sessionId}`
  return { kind: 'agent', id, key: id, sessionId }
}

const PREFIX = 'askback_session_'

/** Made from the session's id and a secret, so that none of them needs to be kept. */
export function sessionToken(secret: string, sessionId: string): string {
  return `${PREFIX}${sessionId}.${macOf(secret, `session ${sessionId}`)}`
}

export function findSession(secret: string, token: string): AgentCredential | null {
  if (!token.startsWith(PREFIX)) return null
  const sessionId = token.slice(PREFIX.length, token.lastIndexOf('.'))
  return sameText(token, sessionToken(secret, sessionId)) ? sessionCredential(sessionId) : null
}

/** 256 random bits, with a prefix that tells a leaked one from other strings. */
export function newToken(prefix: string): string {
  return `${prefix}_${randomBytes(32).toString('base64url')}`
}

/** What is kept of a token. Looking it up by its hash tells nothing by how long that takes. */
export function hashOf(token: string): string {
  return hash('sha256', token, 'hex')
}

export function macOf(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url')
}

/** Compares bytes: two strings of the same length need not have as many bytes. */
export function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
