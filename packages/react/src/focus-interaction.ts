/** Brings a card into view and gives it the focus: the card, never what decides. Whether it is on the page. */
export function focusInteraction(interactionId: string): boolean {
  return focusCard(document.querySelector(`[data-interaction="${CSS.escape(interactionId)}"]`))
}

/** To the next card that waits, or with `-1` to the one before, from wherever the focus is. */
export function focusNextInteraction(step: 1 | -1, within: ParentNode = document): boolean {
  const cards = [...within.querySelectorAll('.ab-card:not([data-phase="settled"])')]
  const from = document.activeElement
  if (!from || from === document.body) return focusCard(cards.at(step > 0 ? 0 : -1))
  const others = cards.filter((card) => !card.contains(from))
  const isAfter = (card: Element) =>
    (from.compareDocumentPosition(card) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0
  return focusCard(step > 0 ? others.find(isAfter) : others.findLast((card) => !isAfter(card)))
}

/** Before a control goes that has the focus: whoever works by keys stays where they are. */
export function focusCardAround(control: Element): void {
  control.closest<HTMLElement>('.ab-card')?.focus({ preventScroll: true })
}

function focusCard(card: Element | null | undefined): boolean {
  if (!(card instanceof HTMLElement)) return false
  // Of one that does not fit, the beginning: nobody should decide before they have seen that.
  const isTall = card.offsetHeight > document.documentElement.clientHeight
  card.scrollIntoView({ block: isTall ? 'start' : 'nearest' })
  card.focus({ preventScroll: true })
  return true
}
