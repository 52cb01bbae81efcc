import { HttpTransport, storedLogin, WebSocketTransport } from '@askback/client'
import { prepareHighlighting } from '@askback/react/highlighting'
import { base } from './base.js'
import { prepareDialogs } from './lazy-dialog.js'
import { mount } from './mount.js'

// A gateway inside of another server may have no WebSockets, and its page says so.
const Transport = document.documentElement.dataset.sse ? HttpTransport : WebSocketTransport
mount(new Transport({ baseUrl: base }), { personId: storedLogin()?.person.id })
whenIdle(() => {
  prepareHighlighting()
  prepareDialogs()
})

function whenIdle(act: () => void): void {
  if ('requestIdleCallback' in window) requestIdleCallback(act)
  else setTimeout(act, 2000)
}
