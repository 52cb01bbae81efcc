import type { Interaction, Session } from '@askback/protocol'
import { ArrowUpRight } from 'lucide-react'
import { useCallback, useEffect, useMemo, useRef, type KeyboardEvent, type ReactNode } from 'react'
import { count } from '../content/amounts.js'
import { ShownText } from '../content/shown-text.js'
import { focusNextInteraction } from '../focus-interaction.js'
import { isCommandKey } from '../interaction/keys.js'
import { SessionFactsContext } from '../interaction/session-facts.js'
import { InteractionView } from '../kinds/interaction-view.js'
import { useInbox, useSessions } from '../use-session.js'
import { useSettledCards } from './use-settled-cards.js'

export interface InboxProps {
  /** Goes to where it was asked. */
  onOpenSession?: (sessionId: string, interactionId: string) => void
  /** What stands where nothing waits. */
  empty?: ReactNode
}

/** Everything that waits for a person in all sessions, oldest first, to be answered in place. */
export function Inbox({ onOpenSession, empty }: InboxProps) {
  const { view, store } = useInbox()
  const sessions = useSessions()
  const serverNow = useCallback(() => store.serverNow(), [store])
  const list = useRef<HTMLUListElement>(null)
  const { items: listed, others } = sessions.view
  const byId = useMemo(
    () => new Map([...others, ...(listed ?? []).map((session) => [session.id, session] as const)]),
    [listed, others],
  )
  const { settled, ...presence } = useSettledCards(view.leaving)
  const shown = useMemo(
    () => [...settled, ...(view.items ?? [])].toSorted((one, other) => one.requestedAt - other.requestedAt),
    [view.items, settled],
  )
  useEffect(() => {
    void sessions.store.lookUp(shown.map(({ sessionId }) => sessionId))
  }, [sessions.store, listed, shown])
  if (view.items === null) {
    return (
      <div className="ab-inbox">
        <p className="ab-quiet">{view.error?.message ?? 'Loading…'}</p>
      </div>
    )
  }

  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const step = event.key === 'j' ? 1 : event.key === 'k' ? -1 : null
    if (step === null || !list.current || !isCommandKey(event)) return
    event.preventDefault()
    focusNextInteraction(step, list.current)
  }

  return (
    <div className="ab-inbox" onKeyDown={onKeyDown}>
      <p className="ab-only-spoken" role="status">
        {view.total === 0 ? 'All caught up' : count(view.total, 'request waits', 'requests wait')}
      </p>
      {shown.length === 0 && !view.more && <div className="ab-empty">{empty ?? 'All caught up.'}</div>}
      <ul className="ab-inbox-list" ref={list} {...presence}>
        {shown.map((interaction) => (
          <InboxItem
            key={interaction.interactionId}
            interaction={interaction}
            session={byId.get(interaction.sessionId)}
            serverNow={serverNow}
            onOpenSession={onOpenSession}
          />
        ))}
      </ul>
      {view.more && (
        <button
          type="button"
          className="ab-button"
          onClick={() => void store.loadMore().catch(() => undefined)}
        >
          {`Show more (${view.items.length} of ${view.total} shown)`}
        </button>
      )}
    </div>
  )
}

interface InboxItemProps {
  onOpenSession: InboxProps['onOpenSession'] | undefined
  interaction: Interaction
  session: Session | undefined
  serverNow: () => number
}

function InboxItem({ interaction, session, serverNow, onOpenSession }: InboxItemProps) {
  const { sessionId, interactionId } = interaction
  const { agent = null, cwd = null, title = null } = session ?? {}
  const facts = useMemo(() => ({ agent, cwd, title, serverNow }), [agent, cwd, title, serverNow])
  return (
    <li className="ab-inbox-item">
      <button
        type="button"
        className="ab-inbox-session"
        disabled={!onOpenSession}
        onClick={() => onOpenSession?.(sessionId, interactionId)}
      >
        <bdi>
          <ShownText text={title ?? 'Untitled session'} />
        </bdi>
        {agent !== null && (
          <span className="ab-quiet">
            <ShownText text={agent} />
          </span>
        )}
        {onOpenSession && <ArrowUpRight aria-hidden />}
      </button>
      <SessionFactsContext value={facts}>
        <InteractionView interaction={interaction} />
      </SessionFactsContext>
    </li>
  )
}
