import type { EventOf } from '@askback/protocol'
import type { AuditRow } from './store.js'

/** The line that a settlement leaves in the audit, for every store alike. */
export function auditRow(event: EventOf<'interaction_response'>): AuditRow {
  const row: AuditRow = {
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
