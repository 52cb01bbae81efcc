import type { Append } from '@askback/core'
import { canonicalJson, digestOf, type EventOf, type Json, type PermissionMode } from '@askback/protocol'
import { isLate } from './log-facts.js'
import type { LoggedInteraction, LogModel, LoggedSession, StoredRule } from './log-model.js'
import type { Sent } from './sent.js'
import { holds } from './violation.js'

type Response = EventOf<'interaction_response'>

/** Each settlement has an origin: a deadline, a person, a rule, a mode or an agent (L3 to L5, L7, L8). */
export function checkOrigin(model: LogModel, append: Append, response: Response, mode: PermissionMode): void {
  const asked = model.known(response.interactionId)
  const { request } = asked
  const what = () => `${request.interactionId} (${request.kind}) settled ${JSON.stringify(response)}`
  holds(response.digest === request.digest, 'L12', what)
  checkShape(asked, response, what)
  if (isLate(request, response.at)) return checkDeadline(asked, response, what)
  holds(response.settlement !== 'timed_out', 'L4', what)
  if (response.settlement === 'superseded') {
    holds(response.by === undefined && response.via === undefined, 'L6', what)
  } else if (response.by) {
    const sent = model.sent.get(response.by.name ?? '')
    holds(sent !== undefined, 'no invention', what)
    holds(fits(sent, asked, response), 'no invention', what)
  } else if (response.via === 'policy') {
    const opened = append.events.includes(request)
    holds(opened && isAllowed(model, asked, mode), 'no invention', what)
  } else {
    holds(response.settlement === 'cancelled' && endsIn(append, asked), 'no invention', what)
  }
  if (response.settlement === 'approved') checkRule(append, asked, response)
}

/** L4: only a choice of a person, a rule or a declared default has an answer. L12: a changed input has its own digest. */
function checkShape({ request }: LoggedInteraction, response: Response, what: () => string): void {
  const { settlement, answer, updatedDigest, supersededBy } = response
  const chosen = settlement === 'answered' || settlement === 'approved' || settlement === 'denied'
  holds(chosen === (answer !== undefined), 'L4', what)
  holds((settlement === 'superseded') === (supersededBy !== undefined), 'L6', what)
  const updated =
    request.kind === 'approval' ? (answer as { updatedInput?: Json } | undefined)?.updatedInput : undefined
  if (updated !== undefined) holds(updatedDigest === digestOf(request.toolName, updated), 'L12', what)
}

function checkDeadline({ request }: LoggedInteraction, response: Response, what: () => string): void {
  const { onTimeout } = request
  holds(response.by === undefined, 'L4', what)
  if (typeof onTimeout === 'string') return holds(response.settlement === 'timed_out', 'L4', what)
  holds(response.via === 'policy' && same(response.answer, onTimeout.answer), 'L5', what)
}

function fits(sent: Sent, { session, request }: LoggedInteraction, response: Response): boolean {
  if (sent.sessionId !== session.id) return false
  const { settlement, answer, message } = response
  switch (sent.what) {
    case 'open':
      return false
    case 'cancel':
      return settlement === 'cancelled' && sent.interactionId === request.interactionId
    case 'cancel_all':
      return settlement === 'cancelled'
    case 'text':
      if (request.kind === 'approval' || request.kind === 'plan_review')
        return settlement === 'denied' && message === sent.text
      return settlement === 'answered'
    case 'answer':
      if (sent.interactionId !== null && sent.interactionId !== request.interactionId) return false
      if (sent.toolCallId !== undefined && sent.toolCallId !== request.toolCallId) return false
      return sent.fit === settlement && sent.digestFits && (sent.answer === null || same(sent.answer, answer))
  }
}

/** The permission table, implemented independently of the code under test. */
function isAllowed(model: LogModel, { session, request }: LoggedInteraction, mode: PermissionMode): boolean {
  const sent = model.sent.get(request.agentId ?? '')
  if (request.kind !== 'approval' || sent?.what !== 'open') return false
  if (mode === 'bypassPermissions') return true
  if (mode === 'acceptEdits' && sent.edit === 'inside') return true
  if (mode === 'plan' && sent.edit === 'plan_file') return true
  if (mode === 'plan' && sent.edit === 'inside') return false
  return [...model.rules].some(([key, rule]) => key.endsWith(`/${request.digest}`) && isFor(rule, session))
}

function isFor(rule: StoredRule, { id, cwd, agent }: LoggedSession): boolean {
  return rule.scope === 'session' ? rule.sessionId === id : rule.cwd === cwd && rule.agent === agent
}

/** A call that the mode allows must not ask a person. The mode is in the same log, so a desk always knows it. */
export function checkAsked(model: LogModel, asked: LoggedInteraction, mode: PermissionMode): void {
  const sent = model.sent.get(asked.request.agentId ?? '')
  if (asked.response || asked.request.kind !== 'approval' || sent?.what !== 'open') return
  const free =
    mode === 'bypassPermissions' ||
    (mode === 'acceptEdits' && sent.edit === 'inside') ||
    (mode === 'plan' && sent.edit === 'plan_file')
  holds(!free, 'permissions', () => `${asked.request.interactionId} asks a person in mode ${mode}`)
}

/** A rule is stored in the same append as the approval that makes it. */
function checkRule(append: Append, { request }: LoggedInteraction, { answer }: Response): void {
  const { scope = 'once' } = answer as { scope?: string }
  const stored = append.kv?.some(
    ({ key }) => key.startsWith(`rule/${scope}/`) && key.endsWith(request.digest),
  )
  const lasting = request.kind === 'approval' && scope !== 'once'
  holds(lasting === (stored ?? false), 'rules', () => `${request.interactionId} was approved for ${scope}`)
}

function endsIn({ events }: Append, { request }: LoggedInteraction): boolean {
  return events.some(
    (event) =>
      (event.type === 'error' && event.code !== 'agent_lost') ||
      (event.type === 'tool_result' && event.toolCallId === request.toolCallId && request.anchor === 'exact'),
  )
}

export function same(one: Json | undefined, other: Json | undefined): boolean {
  return canonicalJson(one ?? null) === canonicalJson(other ?? null)
}
