import type { ReactNode } from 'react'
import { focusCardAround } from '../focus-interaction.js'
import { CardGuardContext, useMustSee, useObstacle, type CardGuard } from './card-guard.js'

export interface MustSeeProps {
  className?: string
  children: ReactNode
}

/** What must have been on screen, all of its height, before its card can be approved. */
export function MustSee({ className, children }: MustSeeProps) {
  return (
    <div ref={useMustSee()} className={className}>
      {children}
    </div>
  )
}

/** What is only there to look something up: it decides nothing, and need not be seen. */
export function NeedNotSee({ children }: { children: ReactNode }) {
  return <CardGuardContext value={null}>{children}</CardGuardContext>
}

export interface ShowAllProps {
  children: ReactNode
  onPress: () => void
}

/** Opens what is folded away. Until then its card can't be approved. */
export function ShowAll({ children, onPress }: ShowAllProps) {
  return (
    <button
      ref={useObstacle()}
      type="button"
      className="ab-show-rest"
      onClick={(event) => {
        // The button goes: someone who works by keys stays in the card.
        focusCardAround(event.currentTarget)
        onPress()
      }}
    >
      {children}
    </button>
  )
}

interface GuardHintProps {
  guard: CardGuard
  /** The label of the button that is disabled until then. */
  enables?: string
  /** What stands here otherwise. */
  children?: ReactNode
}

/** Why the controls are disabled, and the way to what has not been seen. */
export function GuardHint({ guard, enables = 'Approve', children }: GuardHintProps) {
  const { isSeen, timesShownNext } = guard
  return (
    <p className="ab-hint ab-guard-hint" role="status">
      {isSeen ? (
        (guard.notice ?? children)
      ) : (
        <>
          {/* Drawn anew each time, so that a screen reader says it again. */}
          {timesShownNext > 0 && <span key={timesShownNext}>Here is the next part.</span>}
          <span>{`Show everything to enable ${enables}.`}</span>
          <button
            ref={keepFocusInCard}
            type="button"
            className="ab-link-button"
            onClick={() => guard.showNext()}
          >
            Show the next part
          </button>
        </>
      )}
    </p>
  )
}

/** The button goes once all has been seen. */
function keepFocusInCard(button: HTMLButtonElement | null) {
  return () => {
    if (button && document.activeElement === button) focusCardAround(button)
  }
}
