/// <reference lib="webworker" />
// Shows what the page may not show itself, and leads back to the page. It answers no requests and keeps nothing.
const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self))

worker.addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(leadTo(String(event.notification.data)))
})

/** @param {string} hash */
async function leadTo(hash) {
  const [page] = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true })
  if (!page) return worker.clients.openWindow(new URL(hash, worker.registration.scope))
  page.postMessage(hash, [])
  return page.focus()
}
