import { ArrowDown } from 'lucide-react'
import { useEffect, useMemo, useRef, type ReactNode } from 'react'
import { SessionFactsContext } from '../interaction/session-facts.js'
import { useSession } from '../use-session.js'
import { Announcements } from './announcements.js'
import { RowView } from './row-view.js'
import { rowsOf, type Row } from './rows.js'
import { Trouble } from './trouble.js'
import { TypingIndicator } from './typing-indicator.js'
import { useStickToEnd } from './use-stick-to-end.js'
import { useTail } from './use-tail.js'

export interface ConversationProps {
  sessionId: string
  /** What stands where nothing has been said yet; in a session without an agent, also above notes. */
  empty?: ReactNode
  /** Says when the gateway cannot be reached; not where the page around it says so. */
  banner?: boolean
}

/** A session as it goes on: what was said, what was done, and what is asked. */
export function Conversation({ sessionId, empty, banner = true }: ConversationProps) {
  const { view, store } = useSession(sessionId)
  const { layout, state, older, typing } = view
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const { isAtEnd, goToEnd } = useStickToEnd(scroller, content)
  const rows = useMemo(() => (layout ? rowsOf(layout) : []), [layout])
  const { shown, waitingBefore, hasMore, sentinel } = useTail(rows, {
    scroller,
    isAtEnd,
    loadOlder: older === 'available' ? () => void store.loadOlder().catch(() => undefined) : null,
  })
  const facts = useMemo(
    () => ({
      agent: state?.agent ?? null,
      cwd: state?.cwd ?? null,
      title: state?.title ?? null,
      serverNow: () => store.serverNow(),
    }),
    [store, state?.agent, state?.cwd, state?.title],
  )
  useEffect(() => goToEnd(), [sessionId, goToEnd])

  return (
    <SessionFactsContext value={facts}>
      <div className="ab-conversation">
        {banner && <Trouble view={view} onRetry={() => store.reconnect()} />}
        <div className="ab-scroller" ref={scroller} tabIndex={-1}>
          <div className="ab-flow" ref={content}>
            {(hasMore || older !== 'none') && (
              <div ref={sentinel} className="ab-earlier">
                {older === 'loading' || older === 'available' ? 'Loading earlier messages…' : ''}
              </div>
            )}
            {layout && isBlank(state?.agent, rows) && older === 'none' && (
              <div className="ab-empty">{empty}</div>
            )}
            {waitingBefore.map((row) => (
              <RowView key={row.key} row={row} />
            ))}
            {shown.map((row) => (
              <RowView key={row.key} row={row} />
            ))}
            {typing && <TypingIndicator />}
          </div>
        </div>
        {!isAtEnd && (
          <button type="button" className="ab-to-end" onClick={goToEnd}>
            <ArrowDown aria-hidden />
            {layout?.waiting ? 'An answer is needed' : 'Latest'}
          </button>
        )}
        {state && <Announcements key={sessionId} state={state} />}
      </div>
    </SessionFactsContext>
  )
}

/** In a session without an agent, a note is no beginning: whoever reads it still has to learn how to ask here. */
function isBlank(agent: string | null | undefined, rows: readonly Row[]): boolean {
  const isNote = (row: Row) => row.type === 'container' && row.container.type === 'user_message'
  return rows.length === 0 || (agent === null && rows.every(isNote))
}
