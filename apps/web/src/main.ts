/** Whether the page is seen or not, it does not wait longer than this. */
const LATEST_MS = 100
let isStarted = false

// What the page brings along is painted first: the app takes the processor for a while.
if (document.hidden) start()
else requestAnimationFrame(() => setTimeout(start))
setTimeout(start, LATEST_MS)

function start(): void {
  if (isStarted) return
  isStarted = true
  void import('./start.js')
}
