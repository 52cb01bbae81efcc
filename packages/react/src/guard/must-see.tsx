import type { ReactNode } from 'react'
import { useAttachedRef } from '../use-attached-ref.js'
import { focusEnclosingCard } from '../card-focus.js'
import { CardGuardContext, useMustSee, useObstacle, type CardGuard } from './card-guard.js'
import { useLabels } from '../labels.js'

/** The props of `MustSee`. */
export interface MustSeeProps {
  className?: string
  children: ReactNode
}

/**
 * Content that must have been on screen with its whole height before its card can be approved. Outside of a card with
 * a guard it has no effect.
 *
 * @example
 * <MustSee>{changes}</MustSee>
 */
export function MustSee({ className, children }: MustSeeProps) {
  return (
    <div ref={useMustSee()} className={className}>
      {children}
    </div>
  )
}

/** Content for reference only: nothing is decided on it, so it need not have been on screen. */
export function NeedNotSee({ children }: { children: ReactNode }) {
  return <CardGuardContext.Provider value={null}>{children}</CardGuardContext.Provider>
}

/** The props of `ShowAll`. */
export interface ShowAllProps {
  children: ReactNode
  onPress: () => void
}

/**
 * A button that unfolds content. Until it is pressed, its card can't be approved. Remove it in `onPress`.
 *
 * @example
 * {!isOpen && <ShowAll onPress={() => setOpen(true)}>Show all 200 lines</ShowAll>}
 */
export function ShowAll({ children, onPress }: ShowAllProps) {
  return (
    <button
      ref={useObstacle()}
      type="button"
      className="ab-show-rest"
      onClick={(event) => {
        // Pressing removes this button, and keyboard users should stay in the card.
        focusEnclosingCard(event.currentTarget)
        onPress()
      }}
    >
      {children}
    </button>
  )
}

/** The props of `GuardHint`. */
export interface GuardHintProps {
  guard: CardGuard
  /**
   * The label of the buttons that are disabled until everything has been seen.
   *
   * @default "Approve"
   */
  enables?: string
  /** Shown when there is nothing to say about the guard. */
  children?: ReactNode
}

/** Says why the controls are disabled, with a button that leads to what has not been seen. */
export function GuardHint({ guard, enables, children }: GuardHintProps) {
  const t = useLabels()
  const keepsFocusInCard = useAttachedRef(keepFocusInCard)
  const { isSeen, timesShownNext } = guard
  return (
    <p className="ab-hint ab-guard-hint" role="status">
      {isSeen ? (
        guard.notice === null ? (
          children
        ) : (
          t(guard.notice)
        )
      ) : (
        <>
          {/* A new element each time, so that a screen reader reads it again. */}
          {timesShownNext > 0 && <span key={timesShownNext}>{t('Here is the next part.')}</span>}
          <span>{t('Show everything to enable {controls}.', { controls: enables ?? t('Approve') })}</span>
          <button
            ref={keepsFocusInCard}
            type="button"
            className="ab-link-button"
            onClick={() => guard.showNext()}
          >
            {t('Show the next part')}
          </button>
        </>
      )}
    </p>
  )
}

/** The button disappears once everything has been seen. */
function keepFocusInCard(button: HTMLButtonElement): () => void {
  return () => {
    if (document.activeElement === button) focusEnclosingCard(button)
  }
}
