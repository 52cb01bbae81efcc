/// <reference lib="webworker" />
// The service worker that shows notifications where the page itself may not, and leads back to the page. It answers no
// requests and stores nothing.
const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self))

worker.addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(openPage(String(event.notification.data)))
})

/** @param {string} hash */
async function openPage(hash) {
  const [page] = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true })
  if (!page) return worker.clients.openWindow(new URL(hash, worker.registration.scope))
  page.postMessage(hash, [])
  return page.focus()
}
