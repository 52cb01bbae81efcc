import type { EventOf } from '@askback/protocol'
import type { AuditRow } from './store.js'

/** The line that a settlement leaves in the audit, for every store alike. */
export function auditRow(event: EventOf<'interaction_response'>): AuditRow {
  const { at, sessionId, interactionId, toolCallId, toolName, kind, settlement, digest, by, via, message } =
    event
  return {
    at,
    sessionId,
    interactionId,
    toolCallId,
    toolName,
    kind,
    settlement,
    ...(by && { by }),
    ...(via && { via }),
    digest,
    ...(message !== undefined && { message }),
  }
}
