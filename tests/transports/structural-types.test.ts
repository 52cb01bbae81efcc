import type { DirectHost, WebSocketConstructor, WebSocketLike } from '@askback/client'
import type { Host } from '@askback/core'
import { expectTypeOf, it } from 'vitest'
import type { WebSocket as WsWebSocket } from 'ws'

it('the host of core can be passed to DirectTransport', () => {
  expectTypeOf<Host>().toExtend<DirectHost>()
})

it('the WebSocket of browsers and that of the ws package can be passed to WebSocketTransport', () => {
  expectTypeOf<WebSocket>().toExtend<WebSocketLike>()
  expectTypeOf<WsWebSocket>().toExtend<WebSocketLike>()
  expectTypeOf<typeof WsWebSocket>().toExtend<WebSocketConstructor>()
})
