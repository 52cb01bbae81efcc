import type { Interaction, Session } from '@askback/protocol'
import { ArrowUpRightIcon } from '../icons.js'
import {
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
  type FocusEvent,
  type KeyboardEvent,
  type ReactNode,
} from 'react'
import { focusNextInteraction } from '../card-focus.js'
import { SafeText } from '../content/safe-text.js'
import { isCommandKey } from '../interaction/controls.js'
import { InteractionView } from '../kinds/interaction-view.js'
import { SessionFactsContext, useInbox, useSessions } from '../use-session.js'
import { formatNumber } from '../content/text-labels.js'
import { useLabels } from '../labels.js'

/** The props of `Inbox`. */
export interface InboxProps {
  /**
   * Called when the person wants to see the session of a request.
   *
   * @default the title of the session is not clickable
   */
  onOpenSession?: (sessionId: string, interactionId: string) => void
  /**
   * Shown when nothing waits.
   *
   * @default "All caught up."
   */
  empty?: ReactNode
}

/**
 * Everything that waits for a person in all sessions, oldest first, to be answered in place. `J` and `K` move between
 * the cards. Settled cards stay for a moment, to say who answered.
 *
 * @example
 * <Inbox onOpenSession={(sessionId) => (location.hash = `#/s/${sessionId}`)} />
 */
export function Inbox({ onOpenSession, empty }: InboxProps) {
  const t = useLabels()
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
        <p className="ab-quiet">{view.error?.message ?? t('Loading…')}</p>
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
      <p className="ab-sr-only" role="status">
        {view.total === 0
          ? t('All caught up')
          : t(view.total === 1 ? '{count} request waits' : '{count} requests wait', {
              count: formatNumber(view.total),
            })}
      </p>
      {shown.length === 0 && !view.more && <div className="ab-empty">{empty ?? t('All caught up.')}</div>}
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
          {t('Show more ({shown} of {total} shown)', { shown: view.items.length, total: view.total })}
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
  const t = useLabels()
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
          <SafeText text={title ?? t('Untitled session')} />
        </bdi>
        {agent !== null && (
          <span className="ab-quiet">
            <SafeText text={agent} />
          </span>
        )}
        {onOpenSession && <ArrowUpRightIcon aria-hidden />}
      </button>
      <SessionFactsContext.Provider value={facts}>
        <InteractionView interaction={interaction} />
      </SessionFactsContext.Provider>
    </li>
  )
}

export interface SettledCards {
  /** Cards that are still shown although they are settled: see `useSettledCards`. */
  settled: readonly Interaction[]
  onPointerEnter: () => void
  onPointerLeave: () => void
  onFocus: () => void
  onBlur: (event: FocusEvent<HTMLElement>) => void
}

/**
 * Keeps settled cards in the list while the pointer or the focus is on it. When a card leaves, those below move up,
 * and the controls of another request would appear under a resting pointer. The handlers belong on the list.
 */
function useSettledCards(leaving: readonly Interaction[]): SettledCards {
  const [hasPointer, setPointer] = useState(false)
  const [hasFocus, setFocus] = useState(false)
  const [retained, setRetained] = useState<readonly Interaction[]>([])
  const isPresent = hasPointer || hasFocus

  useEffect(() => {
    // oxlint-disable-next-line react/set-state-in-effect -- remembers what the store is about to forget
    setRetained((before) => (isPresent ? addMissing(before, leaving) : []))
  }, [leaving, isPresent])

  const settled = useMemo(
    () => (isPresent ? addMissing(retained, leaving) : leaving),
    [retained, leaving, isPresent],
  )
  return {
    settled,
    onPointerEnter: () => setPointer(true),
    onPointerLeave: () => setPointer(false),
    onFocus: () => setFocus(true),
    onBlur: ({ currentTarget, relatedTarget }) => setFocus(currentTarget.contains(relatedTarget)),
  }
}

function addMissing(
  retained: readonly Interaction[],
  leaving: readonly Interaction[],
): readonly Interaction[] {
  const known = new Set(retained.map(({ interactionId }) => interactionId))
  const added = leaving.filter(({ interactionId }) => !known.has(interactionId))
  return added.length === 0 ? retained : [...retained, ...added]
}
