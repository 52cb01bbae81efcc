import type { Session, SessionTags } from '@askback/protocol'

/*
 * What a program that embeds the gateway decides itself: who its callers are, and what each of them may see and do.
 */

/** Who a request comes from. `authenticate` may return more fields, and `authorize` gets the same object. */
export interface AuthenticatedActor {
  /** Identifies the actor in the log and the audit. It must stay the same, and never become somebody else's. */
  id: string
  /** For people to read. */
  name?: string
  /** A person answers; an agent asks and reads, in sessions with `agent: null`. */
  role: 'person' | 'agent'
  /** Every session that this actor creates gets these tags; they win over those that the request names. */
  tags?: SessionTags
}

/**
 * Finds out who a request comes from; `null` if nobody is signed in. It gets the request of the server that the gateway is mounted
 * in. A browser adds cookies by itself, but pages of other origins cannot use them: the gateway checks the origin first.
 */
export type Authenticate<Request, Who extends AuthenticatedActor = AuthenticatedActor> = (
  request: Request,
) => Who | null | undefined | Promise<Who | null | undefined>

/**
 * What somebody wants to do in a session. `read` is needed for all others, too: without it the session does not exist for the actor.
 * `ask`: open requests and report tool calls; `answer`: settle or cancel requests; `message`: write to the agent; `manage`:
 * interrupt, clear, permission mode, tags; `delete`.
 */
export type SessionAction = 'read' | 'ask' | 'answer' | 'message' | 'manage' | 'delete'

/** A session as `authorize` gets it. */
export interface AccessSession extends Pick<Session, 'agent' | 'title' | 'cwd' | 'permissionMode'> {
  /** `null` for a session that is about to be created. */
  id: string | null
  /** Empty if it has none. */
  tags: SessionTags
}

/**
 * `administer` concerns no session: tokens, rules for all sessions, metrics, pairing, and audit rows of deleted sessions.
 * For `create` the session is the one that would be created.
 */
export type AccessRequest =
  | { action: SessionAction | 'create'; session: AccessSession }
  | { action: 'administer'; session: null }

/**
 * Decides whether an actor may do something. Only `true` allows it. It is asked again for each request, and for open streams when
 * the tags of a session change, so it should be fast.
 */
export type Authorize<Who extends AuthenticatedActor = AuthenticatedActor> = (
  actor: Who,
  request: AccessRequest,
) => boolean | Promise<boolean>
