import type { Actor } from '@askback/protocol'

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
