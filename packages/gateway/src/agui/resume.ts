import type { BoundDesk, PersonCaller } from '@askback/core'
import { AskbackError, interactionInError, type Interaction } from '@askback/protocol'
import type { CallAccess } from '../access/call-access.js'
import { scopeOf } from '../routes/interactions.js'
import type { AguiEvent } from './events.js'
import type { ResumeEntry } from './input.js'

/** What a run wants to answer, checked against what is pending. */
export type CheckedResume =
  | { complete: true; entries: ResumeEntry[] }
  /** Nothing may be answered: these interrupts are open and have no entry. */
  | { complete: false; missing: string[] }

/**
 * Checks the entries before any of them is answered. Throws for one that names no interaction of this session, and for one that is there
 * twice. One that is settled already is no error: another surface was faster.
 */
export async function checkResume(
  entries: ResumeEntry[],
  pending: readonly Interaction[],
  { desk, sessionId }: { desk: BoundDesk<PersonCaller>; sessionId: string },
): Promise<CheckedResume> {
  const ids = new Set(entries.map(({ interruptId }) => interruptId))
  if (ids.size < entries.length)
    throw new AskbackError('invalid_request', 'An interrupt may be in `resume` once only.')
  const open = new Set(pending.map(({ interactionId }) => interactionId))
  // Rejects with `not_found` for an interaction of another session, too.
  for (const id of ids) if (!open.has(id)) await desk.interaction(sessionId, id)
  const missing = [...open].filter((id) => !ids.has(id))
  return missing.length === 0 ? { complete: true, entries } : { complete: false, missing }
}

export interface AnswerOptions {
  desk: BoundDesk<PersonCaller>
  sessionId: string
  access: CallAccess | null
  keyOf: (interruptId: string) => string | undefined
}

/**
 * Answers one interrupt in the name of the person. Returns an event for the client if it did not count: because another answer was first,
 * or because it does not fit the request, which then stays open.
 */
export async function answer(
  { interruptId, status, payload }: ResumeEntry,
  { desk, sessionId, access, keyOf }: AnswerOptions,
): Promise<AguiEvent | null> {
  const target = { sessionId, interactionId: interruptId, idempotencyKey: keyOf(interruptId) }
  try {
    if (status === 'cancelled') await desk.cancel(target)
    else {
      await access?.checkScope(scopeOf(payload))
      await desk.respond({ ...target, answer: payload ?? null })
    }
    return null
  } catch (error) {
    if (!(error instanceof AskbackError)) throw error
    if (error.code === 'already_settled') return alreadySettled(interruptId, error)
    if (error.code !== 'invalid_answer') throw error
    const value = { interruptId, message: error.message, details: error.details }
    return { type: 'CUSTOM', name: 'askback.answer_refused', value }
  }
}

function alreadySettled(interruptId: string, error: AskbackError): AguiEvent {
  const { settlement, by, via, answer: given, message } = interactionInError(error) ?? {}
  const value = { interruptId, settlement, answer: given, message, by, via }
  return { type: 'CUSTOM', name: 'askback.already_settled', value }
}
