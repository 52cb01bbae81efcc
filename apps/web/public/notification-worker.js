// Shows what the page may not show itself, and leads back to the page. It answers no requests and keeps nothing.
addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(leadTo(event.notification.data))
})

async function leadTo(hash) {
  const [page] = await clients.matchAll({ type: 'window', includeUncontrolled: true })
  if (!page) return clients.openWindow(new URL(hash, registration.scope))
  page.postMessage(hash)
  return page.focus()
}
