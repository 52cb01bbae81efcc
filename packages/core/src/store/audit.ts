import type { EventOf, SessionEvent, AuditAct, AuditDecision, AuditRow, SessionTags } from '@askback/protocol'

/** Shared, because most events have no row and each append asks for the rows of its events. */
const NO_ROWS: AuditRow[] = []

/**
 * Returns the audit rows of an event, the same in every store. They depend on the event alone, so that an import, which appends
 * the same events, results in the same audit.
 */
export function auditRows(event: SessionEvent): AuditRow[] {
  switch (event.type) {
    case 'session_started':
      return event.by !== undefined && event.permissionMode !== 'default'
        ? [actRow('permission_mode', event, event.permissionMode)]
        : NO_ROWS
    case 'session_status':
      if (event.status === 'ended') return [actRow('session_deleted', event)]
      return event.via === undefined ? NO_ROWS : [actRow('permission_mode', event, event.permissionMode)]
    case 'session_tags':
      return [actRow('session_tags', event, tagsText(event.tags))]
    case 'interaction_response': {
      if (event.copyOf !== undefined) return NO_ROWS
      const decision = decisionRow(event)
      return event.ruleId === undefined ? [decision] : [decision, actRow('rule_created', event, event.ruleId)]
    }
    default:
      return NO_ROWS
  }
}

function actRow(
  act: AuditAct['act'],
  event: EventOf<'session_started' | 'session_status' | 'session_tags' | 'interaction_response'>,
  subject?: string,
): AuditAct {
  const row: AuditAct = { at: event.at, act, sessionId: event.sessionId }
  if (event.by) row.by = event.by
  if (event.via) row.via = event.via
  if (subject !== undefined) row.subject = subject
  return row
}

function tagsText(tags: SessionTags): string {
  return Object.entries(tags)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
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

/** Removes the message of a decision, which is erased with its session; the rest of the row stays. */
export function withoutMessage(row: AuditRow): AuditRow {
  if ('act' in row) return row
  const { message: _, ...rest } = row
  return rest
}

/** For a store that has the message in a column of its own, where it can be erased. */
export function splitMessage(row: AuditRow): { row: AuditRow; message: string | null } {
  const message = 'act' in row ? undefined : row.message
  return message === undefined ? { row, message: null } : { row: withoutMessage(row), message }
}

/** The inverse of `splitMessage`. */
export function joinMessage(row: AuditRow, message: string | null): AuditRow {
  return message === null || 'act' in row ? row : { ...row, message }
}
