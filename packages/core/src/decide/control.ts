import {
  AskbackError,
  canonicalJson,
  pendingOf,
  routeText,
  type Interaction,
  type NewEvent,
  type SessionState,
  type SessionTags,
} from '@askback/protocol'
import { optional } from '../optional.js'
import { tagsKey } from '../store/records.js'
import { mergeParts, type CommandOf, type Context, type Decision, type MessageCommand } from './command.js'
import {
  alreadySettled,
  cancelPending,
  interactionOf,
  isExpired,
  progress,
  refuseAsLate,
  respond,
  settleByDeadline,
} from './settle.js'

export function start(state: SessionState, command: CommandOf<'start'>, _context: Context): Decision {
  const { ifNotExists = false, ...session } = command
  if (state.ended) throw new AskbackError('unavailable', `The session ${state.sessionId} is being deleted.`)
  if (state.seq > 0 && ifNotExists) return { events: [] }
  if (state.seq > 0)
    throw new AskbackError('invalid_request', `The session ${state.sessionId} exists already.`)
  return { events: [{ ...session, type: 'session_started' }], ...tagsWrite(state.sessionId, session.tags) }
}

/** Answers a pending interaction or goes to the agent; `routed` of the decision says which. */
export function message(state: SessionState, command: MessageCommand, context: Context): Decision {
  const { text, route, interactionId } = command
  if (text.trim() === '') throw new AskbackError('invalid_request', 'The message is empty.')
  if (route === 'agent') return toAgent(state, command, context)
  if (interactionId !== undefined) {
    const named = interactionOf(state, interactionId, context)
    if (named.status === 'settled') throw alreadySettled(named)
    if (isExpired(named, context.now)) return refuseAsLate(state, named, context)
    return routeAmong([named], state, command, context)
  }
  // An interaction that is past its deadline takes no text, even if its timer has not fired yet.
  const pending = pendingOf(state)
  const late = pending.filter((item) => isExpired(item, context.now))
  const open = pending.filter((item) => !isExpired(item, context.now))
  const routed = routeAmong(open, state, command, context)
  const expired = late.map((item) => settleByDeadline(state, item, context))
  return { ...routed, ...mergeParts(...expired, routed) }
}

/** L8: cancels everything pending. The turn itself ends when the agent reports its end. */
export function interrupt(state: SessionState, command: CommandOf<'interrupt'>, context: Context): Decision {
  const { by, via } = command
  const cancelled = cancelPending(
    state,
    { ...optional({ by, via }), message: 'The session was interrupted.' },
    context,
  )
  return { ...cancelled, ...stopped(state) }
}

export function clear(state: SessionState, command: CommandOf<'clear'>, context: Context): Decision {
  const { by, via } = command
  const cancelled = cancelPending(
    state,
    { ...optional({ by, via }), message: 'The session was cleared.' },
    context,
  )
  const all = mergeParts(cancelled, { events: [{ type: 'context_cleared', ...optional({ by }) }] })
  return { ...all, ...stopped(state) }
}

export function setMode(state: SessionState, command: CommandOf<'set_mode'>, _context: Context): Decision {
  if (command.mode === state.permissionMode) return { events: [] }
  const { mode, by, via } = command
  return {
    events: [
      { type: 'session_status', status: state.status, permissionMode: mode, ...optional({ by, via }) },
    ],
  }
}

export function setTags(state: SessionState, command: CommandOf<'set_tags'>, _context: Context): Decision {
  const { tags, by, via } = command
  if (canonicalJson(tags) === canonicalJson(state.tags ?? {})) return { events: [] }
  return {
    events: [{ type: 'session_tags', tags, before: state.tags ?? {}, ...optional({ by, via }) }],
    ...tagsWrite(state.sessionId, tags),
  }
}

/** Stores list sessions with their tags, which they read from this key. */
export function tagsWrite(sessionId: string, tags: SessionTags | undefined): Pick<Decision, 'kv'> {
  if (!tags) return {}
  return { kv: [{ key: tagsKey(sessionId), value: Object.keys(tags).length > 0 ? tags : null }] }
}

/** The last append of a session that is being deleted. It settles what is pending, so that every waiter is resolved before the log is erased. */
export function end(state: SessionState, command: CommandOf<'end'>, context: Context): Decision {
  const { by, via } = command
  const cancelled = cancelPending(
    state,
    { ...optional({ by, via }), message: 'The session was deleted.' },
    context,
  )
  const ended: NewEvent = {
    type: 'session_status',
    status: 'ended',
    permissionMode: state.permissionMode,
    ...optional({ by, via }),
  }
  const erasure = { key: erasureKey(state.sessionId), value: state.logId }
  return mergeParts(cancelled, { events: [ended], kv: [erasure] })
}

/** Key of the record that a session, with this log, is to be erased. With it a deletion is completed after a crash. */
export function erasureKey(sessionId: string): string {
  return `erase/${sessionId}`
}

/** The turn that the command stops, if one is open. */
function stopped({ activeTurnId }: SessionState): Pick<Decision, 'turnId'> {
  return activeTurnId === null ? {} : { turnId: activeTurnId }
}

function routeAmong(
  pending: Interaction[],
  state: SessionState,
  command: MessageCommand,
  context: Context,
): Decision {
  const { text, by, via, route, interactionId, questionIndex } = command
  const routed = routeText({ pending, text, ...optional({ interactionId, questionIndex }) })
  switch (routed.to) {
    case 'nobody':
      if (route === 'auto' && interactionId === undefined) return toAgent(state, command, context)
      throw new AskbackError('nothing_pending', 'No pending request here takes a text.')
    case 'answer':
      return {
        ...respond(
          state,
          { type: 'respond', interactionId: routed.interactionId, answer: routed.answer, by, via },
          context,
        ),
        routed: 'interaction',
      }
    case 'progress':
      return {
        ...progress(
          state,
          { type: 'progress', interactionId: routed.interactionId, answers: routed.answers },
          context,
        ),
        routed: 'interaction',
      }
  }
}

function toAgent(state: SessionState, command: MessageCommand, context: Context): Decision {
  const { text, by } = command
  if (typeof context.imported === 'number')
    throw new AskbackError(
      'invalid_request',
      'Only a part of the history of this session is here. Run askback adopt with its file again, which adds the rest.',
    )
  const inTurn = state.activeTurnId !== null || state.agent === null
  const turnId = inTurn ? (state.activeTurnId ?? undefined) : context.newId()
  const said: NewEvent = { type: 'user_message', text, by, ...optional({ turnId }) }
  if (state.agent === null) return { routed: 'log', events: [said] }
  if (inTurn || turnId === undefined) return { routed: 'agent', events: [said] }
  return { routed: 'agent', events: [said, { type: 'turn_started', turnId }] }
}
