import { statusOf, type EventOf, type NewEvent, type SessionState } from '@askback/protocol'
import { addCopy, adopt } from './adopt.js'
import type { Command, Context, Decision } from './command.js'
import { clear, end, interrupt, message, setMode, setTags, start } from './control.js'
import { open } from './open.js'
import { report } from './report.js'
import { cancel, deliver, expire, progress, respond } from './settle.js'

/**
 * Every rule of the product is behind this function: it turns a command into the events to append. It throws an `AskbackError`
 * for a command that is refused and leaves the log unchanged. It is pure: the time, new ids and everything that the state does not
 * hold come with the context, and nothing outside the returned decision changes.
 */
export function decide(state: SessionState, command: Command, context: Context): Decision {
  const decision = decideWithoutStatus(state, command, context)
  decision.events = withStatus(state, decision.events)
  return decision
}

function decideWithoutStatus(state: SessionState, command: Command, context: Context): Decision {
  switch (command.type) {
    case 'start':
      return start(state, command, context)
    case 'open':
      return open(state, command, context)
    case 'respond':
      return respond(state, command, context)
    case 'progress':
      return progress(state, command, context)
    case 'cancel':
      return cancel(state, command, context)
    case 'expire':
      return expire(state, command, context)
    case 'deliver':
      return deliver(state, command, context)
    case 'report':
      return report(state, command, context)
    case 'message':
      return message(state, command, context)
    case 'interrupt':
      return interrupt(state, command, context)
    case 'clear':
      return clear(state, command, context)
    case 'set_mode':
      return setMode(state, command, context)
    case 'set_tags':
      return setTags(state, command, context)
    case 'end':
      return end(state, command, context)
    case 'adopt':
      return adopt(state, command, context)
    case 'add_copy':
      return addCopy(state, command, context)
  }
}

/**
 * L13: an append that changes the session's status ends with a `session_status`. A command that changes the permission mode adds a
 * `session_status` of its own, which is merged into that last one.
 */
function withStatus(state: SessionState, events: NewEvent[]): NewEvent[] {
  if (events.length === 0) return events
  let { activeTurnId, failed, ended, permissionMode } = state
  let pending = state.pendingIds.size
  let agent = state.agent
  let actor: Pick<EventOf<'session_status'>, 'by' | 'via'> | null = null
  for (const event of events) {
    switch (event.type) {
      case 'session_started':
        agent = event.agent
        permissionMode = event.permissionMode
        break
      case 'turn_started':
        activeTurnId = event.turnId
        failed = false
        break
      case 'turn_ended':
        if (activeTurnId === event.turnId) activeTurnId = null
        break
      case 'interaction_pending':
        pending += event.pending ? 1 : -1
        break
      case 'error':
        failed ||= event.fatal
        break
      case 'session_status':
        permissionMode = event.permissionMode
        ended ||= event.status === 'ended'
        actor = event
        break
      default:
        break
    }
  }
  // Mostly there is none, and the list is the decision's own.
  const others = actor ? events.filter(({ type }) => type !== 'session_status') : events
  const status = statusOf({ agent, turnActive: activeTurnId !== null, pending, failed, ended })
  const started = state.seq === 0
  if (status === state.status && (started || permissionMode === state.permissionMode)) return others
  const { sessionId } = state
  const changed: EventOf<'session_status'> = {
    seq: 0,
    id: '',
    sessionId,
    at: 0,
    type: 'session_status',
    status,
    permissionMode,
  }
  // Only a change of the mode, or the end, is attributed to a person; a status also changes by itself.
  if (ended || permissionMode !== state.permissionMode) {
    if (actor?.by) changed.by = actor.by
    if (actor?.via) changed.via = actor.via
  }
  others.push(changed)
  return others
}
