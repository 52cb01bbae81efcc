/** Layout changes that no event announces, like text that grows above, are noticed within this time. */
const CHECK_MS = 100

const checks = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined
let isFrameAsked = false

/**
 * Calls `check` while the page is visible: after each scroll, so that what passes by quickly counts as well, and regularly,
 * for everything else that changes the layout. All cards share one timer.
 */
export function watchScreen(check: () => void): () => void {
  if (checks.size === 0) start()
  checks.add(check)
  return () => {
    checks.delete(check)
    if (checks.size === 0) stop()
  }
}

function start(): void {
  timer = setInterval(runChecks, CHECK_MS)
  // Captured, as a scroll event of a container inside the page does not bubble.
  window.addEventListener('scroll', askFrame, { capture: true, passive: true })
  window.addEventListener('resize', askFrame)
  document.addEventListener('visibilitychange', askFrame)
}

function stop(): void {
  clearInterval(timer)
  window.removeEventListener('scroll', askFrame, { capture: true })
  window.removeEventListener('resize', askFrame)
  document.removeEventListener('visibilitychange', askFrame)
}

function askFrame(): void {
  if (isFrameAsked) return
  isFrameAsked = true
  requestAnimationFrame(() => {
    isFrameAsked = false
    runChecks()
  })
}

function runChecks(): void {
  if (document.visibilityState !== 'visible') return
  for (const check of checks) check()
}
