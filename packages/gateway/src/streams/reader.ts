import type { Socket } from 'node:net'

/** Whoever reads a feed: kept small, since there can be thousands. */
export interface Reader {
  readonly socket: Socket
  /** The last event that it was sent. Once it is live, that is the feed's own. */
  cursor: number
  /** There is nothing more to read: the session is gone. */
  finish(): void
}

/**
 * Writes, unless too much waits for the peer already: then it is cut, and what waits is given up with it. It comes back
 * with its cursor. What is written is shared by all who get it.
 */
export function writeOrCut(socket: Socket, data: Buffer, bufferBytes: number): void {
  if (socket.writableLength <= bufferBytes) socket.write(data)
  else socket.destroy()
}
