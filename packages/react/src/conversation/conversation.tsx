import type { SessionView } from '@askback/client'
import { pendingOf, type ByKind, type Interaction, type SessionState } from '@askback/protocol'
import { ArrowDownIcon, CloudOffIcon } from '../icons.js'
import { useEffect, useMemo, useRef, useState, type ReactNode } from 'react'
import { settlementText } from '../interaction/settlement.js'
import { useViewer } from '../askback-provider.js'
import { SessionFactsContext, useSession } from '../use-session.js'
import { timelineRows, TimelineRowView, type TimelineRow } from './timeline-row.js'
import { useStickToEnd } from './use-stick-to-end.js'
import { useTail } from './use-tail.js'
import { useLabels, type Label, type Translate } from '../labels.js'

/** The props of `Conversation`. */
export interface ConversationProps {
  sessionId: string
  /**
   * Shown while nothing has been said; in a session without an agent also above notes.
   *
   * @default nothing
   */
  empty?: ReactNode
  /**
   * Shows a banner while the gateway can't be reached. Turn it off if the page around the conversation shows one.
   *
   * @default true
   */
  banner?: boolean
}

/**
 * A session as a scrolling timeline: messages, tool calls and cards to answer. It follows new content at its end,
 * loads earlier content when the person scrolls up, and announces requests to screen readers. It fills the height of
 * its parent. A session that can't be loaded is explained in the banner.
 *
 * @example
 * <AskbackProvider transport={transport}>
 *   <Conversation sessionId={sessionId} />
 * </AskbackProvider>
 */
export function Conversation({ sessionId, empty, banner = true }: ConversationProps) {
  const t = useLabels()
  const { view, store } = useSession(sessionId)
  const { layout, state, older, typing } = view
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const { isAtEnd, goToEnd } = useStickToEnd(scroller, content)
  const rows = useMemo(() => (layout ? timelineRows(layout) : []), [layout])
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
    <SessionFactsContext.Provider value={facts}>
      <div className="ab-conversation">
        {banner && <ConnectionBanner view={view} onRetry={() => store.reconnect()} />}
        <div className="ab-scroller" ref={scroller} tabIndex={-1}>
          <div className="ab-timeline" ref={content}>
            {(hasMore || older !== 'none') && (
              <div ref={sentinel} className="ab-earlier">
                {older === 'loading' || older === 'available' ? t('Loading earlier messages…') : ''}
              </div>
            )}
            {layout && isEmptyTimeline(state?.agent, rows) && older === 'none' && (
              <div className="ab-empty">{empty}</div>
            )}
            {waitingBefore.map((row) => (
              <TimelineRowView key={row.key} row={row} />
            ))}
            {shown.map((row) => (
              <TimelineRowView key={row.key} row={row} />
            ))}
            {typing && <TypingIndicator />}
          </div>
        </div>
        {!isAtEnd && (
          <button type="button" className="ab-to-end" onClick={goToEnd}>
            <ArrowDownIcon aria-hidden />
            {t(layout?.waiting ? 'An answer is needed' : 'Latest')}
          </button>
        )}
        {state && <Announcements key={sessionId} state={state} />}
      </div>
    </SessionFactsContext.Provider>
  )
}

/**
 * Whether to show `empty`. In a session without an agent, notes do not count: the page still has to explain how to
 * ask there.
 */
function isEmptyTimeline(agent: string | null | undefined, rows: readonly TimelineRow[]): boolean {
  const isNote = (row: TimelineRow) => row.type === 'container' && row.container.type === 'user_message'
  return rows.length === 0 || (agent === null && rows.every(isNote))
}

/** Says why the page may be out of date. */
function ConnectionBanner({ view, onRetry }: { view: SessionView; onRetry: () => void }) {
  const t = useLabels()
  const { connection, error, state } = view
  const isDown = connection === 'offline' || connection === 'unauthorized'
  if (!error && !isDown) return null
  const message =
    error?.message ??
    t('The gateway cannot be reached. Askback keeps your answers and sends them when it is back.')
  return (
    <p className="ab-banner" role="status" data-tone={state ? undefined : 'bad'}>
      <CloudOffIcon aria-hidden />
      <span>{message}</span>
      <button type="button" className="ab-button" data-size="small" onClick={onRetry}>
        {t('Try now')}
      </button>
    </p>
  )
}

/** Shows that the agent works. It is never shown while the agent waits for a person. */
function TypingIndicator() {
  const t = useLabels()
  return (
    <div className="ab-typing" role="status" aria-label={t('The agent is working')}>
      <span />
      <span />
      <span />
    </div>
  )
}

/** Announces new requests and settlements to screen readers. */
function Announcements({ state }: { state: SessionState }) {
  const t = useLabels()
  const [message, setMessage] = useState('')
  // What was there when the page opened is not announced.
  const before = useRef(state)
  const viewer = useViewer()

  useEffect(() => {
    const changes = changesBetween(before.current, state, viewer, t)
    before.current = state
    if (changes.length > 0) setMessage(changes.join(' '))
  }, [state, viewer, t])

  return (
    <div className="ab-sr-only" role="status" aria-live="polite">
      {message}
    </div>
  )
}

const requestTexts: ByKind<Label> = {
  question: 'The agent asks a question.',
  approval: 'The agent asks for approval.',
  plan_review: 'The agent has a plan to review.',
  form: 'The agent asks you to fill in a form.',
}

function changesBetween(
  before: SessionState,
  now: SessionState,
  viewer: string | null,
  t: Translate,
): string[] {
  const changes: string[] = []
  for (const item of pendingOf(now)) {
    if (before.interactions.get(item.interactionId)?.status !== 'pending') changes.push(t(requestText(item)))
  }
  for (const { interactionId } of pendingOf(before)) {
    const item = now.interactions.get(interactionId)
    if (item?.status === 'settled' && item.settlement !== 'superseded')
      changes.push(`${settlementText(item, viewer, t)}.`)
  }
  if (before.activeTurnId !== null && now.activeTurnId === null) changes.push(t('The agent has finished.'))
  return changes
}

function requestText({ kind }: Interaction): Label {
  return requestTexts[kind] ?? 'The agent asks for something.'
}
