/** A page that nobody sees has no frames. */
const HIDDEN_MS = 250

/** Before the next time that the page is drawn. */
export function onNextFrame(act: () => void): void {
  if (document.hidden) setTimeout(act, HIDDEN_MS)
  else requestAnimationFrame(act)
}
