import type { KeyboardEvent } from 'react'

/** Where letters and digits are typed, or a press already means something. */
const TYPING =
  'textarea, select, [contenteditable], input:not([type=radio]):not([type=checkbox]):not([type=button])'
const PRESSABLE = 'button, a, summary, [role=button]'

/** A single plain press outside of text fields: a key that is held down decides nothing. */
export function isCommandKey(event: KeyboardEvent<HTMLElement>): boolean {
  if (event.repeat || event.defaultPrevented || event.nativeEvent.isComposing) return false
  if (event.ctrlKey || event.metaKey || event.altKey) return false
  return !(event.target as HTMLElement).closest(TYPING)
}

/** Enter that sends: in fields of one line as well, in those of several with Ctrl or Command. */
export function isSubmitKey(event: KeyboardEvent<HTMLElement>): boolean {
  if (event.key !== 'Enter' || event.repeat || event.shiftKey || event.altKey) return false
  if (event.defaultPrevented || event.nativeEvent.isComposing) return false
  const target = event.target as HTMLElement
  if (target.closest(PRESSABLE)) return false
  return !target.closest('textarea, [contenteditable]') || event.ctrlKey || event.metaKey
}

/** 1 to 9 as 0 to 8. */
export function digitOf(event: KeyboardEvent<HTMLElement>): number | null {
  return /^[1-9]$/.test(event.key) && !event.shiftKey ? Number(event.key) - 1 : null
}
