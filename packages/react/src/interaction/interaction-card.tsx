import { useId, useRef, type KeyboardEvent, type ReactNode } from 'react'
import { ShownText } from '../content/shown-text.js'
import { CardGuardContext, useGuardedCard, type CardGuard } from '../guard/card-guard.js'
import { Countdown } from './countdown.js'
import { Failure } from './failure.js'
import { Outcome, toneOf } from './outcome.js'
import { useViewer } from '../transport-provider.js'
import { Unsent } from './unsent.js'
import { useCollapse } from './use-collapse.js'
import type { InteractionControl } from './use-interaction.js'
import { useKeepFocus } from './use-keep-focus.js'

export interface InteractionCardProps {
  control: InteractionControl
  open: boolean
  /** From `useCardGuard`, where something may only be decided once it has been seen, and not by a slip. */
  guard?: CardGuard | undefined
  icon: ReactNode
  /** Ours, never the agent's. */
  title: string
  /** The controls, while there is something to answer. */
  children: ReactNode
  /** What became of it, in a line or two. */
  summary?: ReactNode
  /** What was typed here and is part of no answer: it stays at hand where the request was settled without the person. */
  unsent?: string | undefined
  /** Takes the place of "Answered" and the like. */
  outcome?: string | undefined
  onKeyDown?: (event: KeyboardEvent<HTMLElement>) => void
  /** Sends what stands on the card now; by default the same answer once more. */
  onRetry?: () => void
}

/** The frame of every interaction: who asks, until when, and what became of it. */
export function InteractionCard(props: InteractionCardProps) {
  const { control, open, guard, icon, title, children, summary, unsent, outcome } = props
  const { onKeyDown, onRetry } = props
  const { interaction, phase, isOwn } = control
  const card = useRef<HTMLDivElement>(null)
  const titleId = useId()
  const viewer = useViewer()
  const isDone = phase === 'settled' || !open
  useCollapse(card, isDone)
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
        const isTaken = event.defaultPrevented || event.nativeEvent.isComposing
        if (event.key === 'Escape' && !isTaken) leave(event.currentTarget)
        else if (!isDone) onKeyDown?.(event)
      }}
    >
      {isDone ? (
        <>
          <span id={titleId} className="ab-only-spoken">
            {title}
          </span>
          <Outcome interaction={interaction} isOwn={isOwn} word={outcome} />
          {summary}
          {isLeftUnsent && <Unsent text={unsent} />}
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
                asked by subagent <ShownText text={interaction.agentId} as="code" />
              </span>
            )}
            <Countdown interaction={interaction} />
          </div>
          <CardGuardContext value={guard ?? null}>{children}</CardGuardContext>
          <Failure control={control} onRetry={onRetry} />
        </>
      )}
    </div>
  )
}

/** From a control to its card, and from the card out of it. */
function leave(card: HTMLElement): void {
  if (document.activeElement === card) card.blur()
  else card.focus({ preventScroll: true })
}
