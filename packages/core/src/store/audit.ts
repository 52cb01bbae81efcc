import type { EventOf, SessionEvent, AuditAct, AuditDecision, AuditRow } from '@askback/protocol'

const NONE: AuditRow[] = []

/**
 * The audit rows of an event, the same in every store. They follow from the event alone, so that an import which appends
 * the same events leaves the same audit.
 */
export function auditRows(event: SessionEvent): AuditRow[] {
  switch (event.type) {
    case 'session_started':
      return event.by !== undefined && event.permissionMode !== 'default'
        ? [actRow('permission_mode', event, event.permissionMode)]
        : NONE
    case 'session_status':
      if (event.status === 'ended') return [actRow('session_deleted', event)]
      return event.via === undefined ? NONE : [actRow('permission_mode', event, event.permissionMode)]
    case 'interaction_response': {
      if (event.copyOf !== undefined) return NONE
      const decision = decisionRow(event)
      return event.ruleId === undefined ? [decision] : [decision, actRow('rule_created', event, event.ruleId)]
    }
    default:
      return NONE
  }
}

function actRow(
  act: AuditAct['act'],
  event: EventOf<'session_started' | 'session_status' | 'interaction_response'>,
  subject?: string,
): AuditAct {
  const row: AuditAct = { at: event.at, act, sessionId: event.sessionId }
  if (event.by) row.by = event.by
  if (event.via) row.via = event.via
  if (subject !== undefined) row.subject = subject
  return row
}

function decisionRow(event: EventOf<'interaction_response'>): AuditDecision {
  const row: AuditDecision = {
    at: event.at,
    sessionId: event.sessionId,
    interactionId: event.interactionId,
    toolCallId: event.toolCallId,
    toolName: event.toolName,
    kind: event.kind,
    settlement: event.settlement,
    digest: event.digest,
  }
  if (event.by) row.by = event.by
  if (event.via) row.via = event.via
  if (event.message !== undefined) row.message = event.message
  return row
}

/** The message of a decision is erased with its session; the rest of the row stays. */
export function withoutMessage(row: AuditRow): AuditRow {
  if ('act' in row) return row
  const { message: _, ...rest } = row
  return rest
}

/** For a store that keeps the message apart from the row, where it can be erased. */
export function splitMessage(row: AuditRow): { row: AuditRow; message: string | null } {
  const message = 'act' in row ? undefined : row.message
  return message === undefined ? { row, message: null } : { row: withoutMessage(row), message }
}
