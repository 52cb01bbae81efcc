import { isBuiltInKind, TEXT_KINDS } from '@askback/protocol'
import type { CardRecord } from './card-records.js'

/** Where a text goes that does not name what it is for. */
export type CardTextTarget =
  | { to: 'card'; record: CardRecord }
  | { to: 'session'; sessionId: string }
  | { to: 'nobody'; reason: string }

const REPLY_TO_IT = 'Reply to the message that you mean.'

/**
 * Chooses the session, among all that have open cards at one place, and leaves the rest to the desk's text routing in that
 * session. Two things are decided here, since only this surface knows them: selections and form values that were not sent
 * yet belong to their card, and a form that somebody else has begun takes no text of another person.
 */
export function textTarget(
  openCards: CardRecord[],
  { by, current }: { by: string; current: string | undefined },
): CardTextTarget {
  const own = openCards.filter((record) => !isBegunForm(record) || hasFilled(record, by))
  const sessionId = sessionFor(own, current)
  if (sessionId === null) {
    const reason = own.length > 0 ? `Several sessions wait for you. ${REPLY_TO_IT}` : 'No session is chosen.'
    return { to: 'nobody', reason }
  }
  const takers = own.filter(
    (record) =>
      record.sessionId === sessionId &&
      (isAskedByField(record) || TEXT_KINDS.some((kind) => kind === record.kind)),
  )
  // The desk would give the text to an approval first, but a text that answers a question must not deny an approval.
  if (takers.length > 1) return { to: 'nobody', reason: `Several things wait for a text. ${REPLY_TO_IT}` }
  const [only] = takers
  const isTakenHere = only && (isAskedByField(only) || only.view.picked.length > 0)
  return isTakenHere ? { to: 'card', record: only } : { to: 'session', sessionId }
}

function isBegunForm(record: CardRecord): boolean {
  return isAskedByField(record) && record.view.values.length > 0
}

/** Whether the surface asks field by field, and sends the answer when it has all of them: forms, and custom kinds. */
function isAskedByField({ kind }: CardRecord): boolean {
  return kind === 'form' || !isBuiltInKind(kind)
}

function hasFilled({ view }: CardRecord, by: string): boolean {
  return view.values.some((value) => value.by === by)
}

/** The only session that has open cards here, else the selected one; `null` if neither decides it. */
function sessionFor(openCards: CardRecord[], current: string | undefined): string | null {
  const waiting = new Set(openCards.map(({ sessionId }) => sessionId))
  if (waiting.size === 1) return [...waiting][0]!
  if (waiting.size === 0 || (current !== undefined && waiting.has(current))) return current ?? null
  return null
}
