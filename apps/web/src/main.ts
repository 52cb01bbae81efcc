/** The app starts after this time even if nothing has been painted. */
const MAX_WAIT_MS = 150
let isStarted = false

// The app occupies the processor for a while, so it starts after the first paint of the static page.
if (document.hidden) start()
else new PerformanceObserver(start).observe({ type: 'paint', buffered: true })
setTimeout(start, MAX_WAIT_MS)

function start(): void {
  if (isStarted) return
  isStarted = true
  void import('./start.js')
}
