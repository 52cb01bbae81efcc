/** Whether the page is seen or not, it does not wait longer than this. */
const LATEST_MS = 150
let isStarted = false

// What the page brings along is painted first: the app takes the processor for a while.
if (document.hidden) start()
else new PerformanceObserver(start).observe({ type: 'paint', buffered: true })
setTimeout(start, LATEST_MS)

function start(): void {
  if (isStarted) return
  isStarted = true
  void import('./start.js')
}
