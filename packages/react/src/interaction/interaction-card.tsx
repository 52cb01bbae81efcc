import { CloudOffIcon, TriangleExclamationPointIcon } from '../icons.js'
import { useId, useLayoutEffect, useRef, type KeyboardEvent, type ReactNode, type RefObject } from 'react'
import { useKeepFocus } from '../card-focus.js'
import { SafeText } from '../content/safe-text.js'
import { CardGuardContext, useGuardedCard, type CardGuard } from '../guard/card-guard.js'
import { useViewer } from '../askback-provider.js'
import { Countdown } from './countdown.js'
import { SettlementLine, toneOf, UnsentText } from './settlement.js'
import type { InteractionCardControl } from './use-interaction.js'
import { LabelWithNodes } from '../label-with-nodes.js'
import { useLabels } from '../labels.js'

/** The props of `InteractionCard`. */
export interface InteractionCardProps {
  control: InteractionCardControl
  open: boolean
  /**
   * From `useCardGuard`, if something may be decided only after it has been seen, and not by an accidental press.
   *
   * @default no guard
   */
  guard?: CardGuard | undefined
  icon: ReactNode
  /** Shown above the controls. It must not contain words of the agent, who could imitate the page with them. */
  title: string
  /** The request and its controls, shown while it takes an answer. */
  children: ReactNode
  /** What was decided, in a line or two, shown after the interaction is settled. */
  summary?: ReactNode
  /** Text that was typed on the card and is part of no answer. It is shown if someone else settled the request. */
  unsent?: string | undefined
  /**
   * How the interaction was settled, in words.
   *
   * @default "Answered", "Approved" and so on
   */
  outcome?: string | undefined
  onKeyDown?: (event: KeyboardEvent<HTMLElement>) => void
  /**
   * Sends the answer again after it was refused. Pass it if the person may have changed the answer meanwhile.
   *
   * @default the refused answer is sent again unchanged
   */
  onRetry?: () => void
}

/**
 * The frame of a card of any kind: title, subagent, countdown, errors, and after the settlement how it was settled.
 * Use it to draw a kind of your own. `Escape` moves the focus from a control to the card, and from there to the page.
 *
 * @example
 * function Deploy({ interaction, open = interaction.status === 'pending' }: InteractionProps) {
 *   const control = useInteraction(interaction, open)
 *   return (
 *     <InteractionCard control={control} open={open} icon={<Rocket />} title="Deploy">
 *       <button disabled={!control.canAnswer} onClick={() => void control.respond('go')}>Go</button>
 *     </InteractionCard>
 *   )
 * }
 */
export function InteractionCard(props: InteractionCardProps) {
  const { control, open, guard, icon, title, children, summary, unsent, outcome } = props
  const { onKeyDown, onRetry } = props
  const { interaction, phase, isOwn } = control
  const card = useRef<HTMLDivElement>(null)
  const titleId = useId()
  const viewer = useViewer()
  const isDone = phase === 'settled' || !open
  useAnimatedHeight(card, isDone)
  useKeepFocus(card, interaction, isDone)
  useGuardedCard(guard, card, !isDone)

  const isByViewer = isOwn || (viewer !== null && interaction.by?.id === viewer)
  const isLeftUnsent = phase === 'settled' && !isByViewer && unsent !== undefined && unsent !== ''
  const tone = phase === 'settled' ? toneOf(interaction) : open ? 'pending' : 'gone'
  return (
    <div
      ref={card}
      role="group"
      className="ab-card"
      data-tone={tone}
      data-phase={isDone ? 'settled' : phase}
      data-kind={interaction.kind}
      data-interaction={interaction.interactionId}
      tabIndex={-1}
      aria-labelledby={titleId}
      aria-busy={phase === 'submitting'}
      onKeyDown={(event) => {
        const isHandled = event.defaultPrevented || event.nativeEvent.isComposing
        if (event.key === 'Escape' && !isHandled) moveFocusOut(event.currentTarget)
        else if (!isDone) onKeyDown?.(event)
      }}
    >
      {isDone ? (
        <>
          <span id={titleId} className="ab-sr-only">
            {title}
          </span>
          <SettlementLine interaction={interaction} isOwn={isOwn} word={outcome} />
          {summary}
          {isLeftUnsent && <UnsentText text={unsent} />}
        </>
      ) : (
        <>
          <div className="ab-card-header">
            <span className="ab-card-icon" aria-hidden>
              {icon}
            </span>
            <h2 id={titleId} className="ab-card-title">
              {title}
            </h2>
            {interaction.agentId !== undefined && (
              <span className="ab-card-asker">
                <LabelWithNodes
                  label="asked by subagent {name}"
                  nodes={{ name: <SafeText text={interaction.agentId} as="code" /> }}
                />
              </span>
            )}
            <Countdown interaction={interaction} />
          </div>
          <CardGuardContext.Provider value={guard ?? null}>{children}</CardGuardContext.Provider>
          <SubmissionFailure control={control} onRetry={onRetry} />
        </>
      )}
    </div>
  )
}

/** Moves the focus from a control to its card, and from the card to the page. */
function moveFocusOut(card: HTMLElement): void {
  if (document.activeElement === card) card.blur()
  else card.focus({ preventScroll: true })
}

export interface SubmissionFailureProps {
  control: InteractionCardControl
  /** See `InteractionCardProps`. */
  onRetry?: (() => void) | undefined
}

/** Says why an answer was not sent. What was chosen and typed is still on the card. */
function SubmissionFailure({ control, onRetry = control.retry }: SubmissionFailureProps) {
  const t = useLabels()
  const { phase, error, canAnswer } = control
  if (phase === 'queued') {
    return (
      <p className="ab-notice" role="status">
        <CloudOffIcon aria-hidden />
        {t('The gateway cannot be reached. Askback keeps your answer and sends it when it is back.')}
      </p>
    )
  }
  if (phase !== 'failed') return null
  return (
    <p className="ab-notice" data-tone="bad" role="alert">
      <TriangleExclamationPointIcon aria-hidden />
      <span>
        {t('Your answer was not accepted.')} <SafeText text={error?.message ?? ''} />
      </span>
      {canAnswer && (
        <button type="button" className="ab-button" data-size="small" onClick={onRetry}>
          {t('Try again')}
        </button>
      )}
    </p>
  )
}

const ANIMATION_MS = 220

/** Animates the height of an element when `state` changes, so that the content below does not jump. */
function useAnimatedHeight(element: RefObject<HTMLElement | null>, state: unknown): void {
  const height = useRef<number | null>(null)
  const last = useRef(state)

  useLayoutEffect(() => {
    const target = element.current
    if (!target) return
    const before = height.current
    const frame = last.current === state ? null : target.parentElement
    // Measuring the new height lays out the page with it. A shorter page would scroll, and a conversation that
    // follows its end would take that for a person who scrolls up.
    // oxlint-disable-next-line react/immutability -- styles the element, which is no state of React
    if (frame) frame.style.minHeight = `${before ?? 0}px`
    height.current = target.offsetHeight
    last.current = state
    if (!frame) return
    if (before !== null && before !== height.current && !prefersReducedMotion() && 'animate' in target)
      animateHeight(target, before, height.current)
    frame.style.removeProperty('min-height')
  })
}

function animateHeight(target: HTMLElement, from: number, to: number): void {
  target.animate(
    [
      { height: `${from}px`, overflow: 'hidden' },
      { height: `${to}px`, overflow: 'hidden' },
    ],
    { duration: ANIMATION_MS, easing: 'cubic-bezier(0.2, 0, 0, 1)' },
  )
}

function prefersReducedMotion(): boolean {
  return window.matchMedia('(prefers-reduced-motion: reduce)').matches
}
