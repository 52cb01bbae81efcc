import { LoaderCircleIcon } from '../icons.js'
import { useContext, useLayoutEffect, useRef, type KeyboardEvent, type ReactNode } from 'react'
import { CardGuardContext, useMustSee } from '../guard/card-guard.js'
import type { InteractionCardControl } from './use-interaction.js'

// What the cards of all kinds share to take an answer: the button that sends it, an editor for long texts, and the
// meaning of keys.

/** The props of `SubmitButton`. */
export interface SubmitButtonProps {
  control: InteractionCardControl
  disabled?: boolean
  tone?: 'primary' | 'plain' | 'danger'
  onPress: () => void
  children: ReactNode
}

/**
 * A button that sends an answer once: it is disabled while one is being sent, and a key that is held down does
 * nothing.
 */
export function SubmitButton({ control, disabled, tone = 'primary', onPress, children }: SubmitButtonProps) {
  const guard = useContext(CardGuardContext)
  const isBusy = control.phase === 'submitting' || control.phase === 'queued'
  return (
    <button
      type="button"
      className="ab-button"
      data-tone={tone}
      disabled={disabled || !control.canAnswer}
      // Not `disabled`, which would remove the focus: a key may still press it.
      aria-disabled={guard?.isMoving || undefined}
      onKeyDown={(event) => {
        if (event.repeat && (event.key === 'Enter' || event.key === ' ')) event.preventDefault()
      }}
      onClick={(event) => {
        if (!guard || guard.acceptsPress(event)) onPress()
      }}
    >
      {isBusy && tone === 'primary' && <LoaderCircleIcon className="ab-spin" aria-hidden />}
      {children}
    </button>
  )
}

export interface GrowingEditorProps {
  text: string
  minRows: number
  label: string
  dir?: 'auto'
  autoFocus: boolean
  disabled: boolean
  errorId?: string | undefined
  onChange: (text: string) => void
}

/**
 * A text field that grows with its text, as one that scrolls would hide most of it. All of it must have been on
 * screen: what the agent wrote is still in it wherever the person changed nothing.
 */
export function GrowingEditor(props: GrowingEditorProps) {
  const { text, minRows, label, dir, autoFocus, disabled, errorId, onChange } = props
  const field = useRef<HTMLTextAreaElement>(null)

  useLayoutEffect(() => {
    const element = field.current
    if (!element) return
    const frame = element.parentElement
    const fit = () => {
      // Keeps the page from becoming shorter for a moment, which would scroll it.
      if (frame) frame.style.minHeight = `${frame.offsetHeight}px`
      element.style.height = 'auto'
      element.style.height = `${element.scrollHeight + element.offsetHeight - element.clientHeight}px`
      if (frame) frame.style.minHeight = ''
    }
    fit()
    window.addEventListener('resize', fit)
    return () => window.removeEventListener('resize', fit)
  }, [text])

  return (
    <div ref={useMustSee()} className="ab-growing">
      <textarea
        ref={field}
        className="ab-input ab-editor-text"
        dir={dir}
        value={text}
        rows={minRows}
        spellCheck={false}
        autoFocus={autoFocus}
        disabled={disabled}
        aria-label={label}
        aria-invalid={errorId !== undefined}
        aria-describedby={errorId}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  )
}

/** Elements in which letters and digits are typed. */
const TEXT_FIELDS =
  'textarea, select, [contenteditable], input:not([type=radio]):not([type=checkbox]):not([type=button])'
/** Elements on which Enter already has a meaning. */
const PRESSABLE = 'button, a, summary, [role=button]'

/**
 * Whether a key is a command: a single press without modifiers, outside of text fields. A key that is held down is
 * none.
 */
export function isCommandKey(event: KeyboardEvent<HTMLElement>): boolean {
  if (event.repeat || event.defaultPrevented || event.nativeEvent.isComposing) return false
  if (event.ctrlKey || event.metaKey || event.altKey) return false
  return !elementOf(event).closest(TEXT_FIELDS)
}

/** Whether a key sends the answer: Enter, and in fields of several lines Enter with Ctrl or Command. */
export function isSubmitKey(event: KeyboardEvent<HTMLElement>): boolean {
  if (event.key !== 'Enter' || event.repeat || event.shiftKey || event.altKey) return false
  if (event.defaultPrevented || event.nativeEvent.isComposing) return false
  const target = elementOf(event)
  if (target.closest(PRESSABLE)) return false
  return !target.closest('textarea, [contenteditable]') || event.ctrlKey || event.metaKey
}

function elementOf({ target }: KeyboardEvent<HTMLElement>): Element {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a key is pressed in an element
  return target as Element
}

/** The index of the option that a digit picks: 0 to 8 for the keys 1 to 9. */
export function optionIndexOf(event: KeyboardEvent<HTMLElement>): number | null {
  return /^[1-9]$/.test(event.key) && !event.shiftKey ? Number(event.key) - 1 : null
}
