import { storedLogin, WebSocketTransport } from '@askback/client'
import { prepareHighlighting } from '@askback/react/highlighting'
import { prepareDialogs } from './lazy-dialog.js'
import { mount } from './mount.js'

mount(new WebSocketTransport({ baseUrl: location.origin }), { personId: storedLogin()?.person.id })
whenIdle(() => {
  prepareHighlighting()
  prepareDialogs()
})

function whenIdle(act: () => void): void {
  if ('requestIdleCallback' in window) requestIdleCallback(act)
  else setTimeout(act, 2000)
}
