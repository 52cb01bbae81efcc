/** Brings a card into view and gives it the focus: the card, never what decides. Whether it is on the page. */
export function focusInteraction(interactionId: string): boolean {
  const card = document.querySelector<HTMLElement>(`[data-interaction="${CSS.escape(interactionId)}"]`)
  card?.scrollIntoView({ block: 'nearest' })
  card?.focus({ preventScroll: true })
  return card !== null
}
