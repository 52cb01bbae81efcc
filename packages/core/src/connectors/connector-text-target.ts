import type { CardRecord } from './connector-records.js'

/** Where a text goes that names nothing. */
export type TextTarget =
  | { to: 'card'; record: CardRecord }
  | { to: 'session'; sessionId: string }
  | { to: 'nobody'; told: string }

const REPLY = 'Reply to the message that you mean.'
const NO_SESSION = 'No session is chosen.'
const TAKES_TEXT: ReadonlySet<string> = new Set(['approval', 'plan_review', 'question', 'form'])

/** What is filled in on this surface is known here only; all else the desk decides on, in the session that is meant. */
export function textTarget(
  open: CardRecord[],
  { by, current }: { by: string; current: string | undefined },
): TextTarget {
  const mine = open.filter((record) => !isBegun(record) || hasFilled(record, by))
  const sessionId = sessionFor(mine, current)
  if (sessionId === null)
    return { to: 'nobody', told: mine.length > 0 ? `Several sessions wait for you. ${REPLY}` : NO_SESSION }
  const here = mine.filter((record) => record.sessionId === sessionId)
  const takers = here.filter(({ kind }) => TAKES_TEXT.has(kind))
  // A text for a question must not deny an approval that waits beside it.
  if (takers.length > 1) return { to: 'nobody', told: `Several things wait for a text. ${REPLY}` }
  const [only] = takers
  // What is ticked, or filled in, belongs to the answer.
  const isHere = only && (only.kind === 'form' || only.view.picked.length > 0)
  return isHere ? { to: 'card', record: only } : { to: 'session', sessionId }
}

function isBegun({ kind, view }: CardRecord): boolean {
  return kind === 'form' && view.values.length > 0
}

function hasFilled({ view }: CardRecord, by: string): boolean {
  return view.values.some((value) => value.by === by)
}

/** The only session that waits here; else the one that was chosen. */
function sessionFor(open: CardRecord[], current: string | undefined): string | null {
  const waiting = new Set(open.map(({ sessionId }) => sessionId))
  if (waiting.size === 1) return [...waiting][0]!
  if (waiting.size === 0 || (current !== undefined && waiting.has(current))) return current ?? null
  return null
}
