import type { DirectHost, WebSocketConstructor, WebSocketLike } from '@askback/client'
import type { Host } from '@askback/core'
import { expectTypeOf, it } from 'vitest'
import type { WebSocket as WsWebSocket } from 'ws'

it('the host of the core is one that the in-process transport takes', () => {
  expectTypeOf<Host>().toExtend<DirectHost>()
})

it('the WebSocket of a browser and that of the ws package are ones that the transport takes', () => {
  expectTypeOf<WebSocket>().toExtend<WebSocketLike>()
  expectTypeOf<WsWebSocket>().toExtend<WebSocketLike>()
  expectTypeOf<typeof WsWebSocket>().toExtend<WebSocketConstructor>()
})
