/** What is used of a WebSocket: that of browsers, of Node 22 and of the `ws` package each have it. */
export interface WebSocketLike {
  send(data: string): void
  close(): void
  addEventListener(type: 'open' | 'message' | 'close' | 'error', listener: (event: object) => void): void
}

/**
 * The second argument is given with a token only, which browsers cannot send: there a login speaks, and a token
 * in the address would end up in logs.
 */
export type WebSocketConstructor = new (
  url: string,
  options?: { headers: Record<string, string> },
) => WebSocketLike
