import type { Socket } from 'node:net'
import { writeInTurn } from '../http/write-in-turn.js'

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
  if (socket.writableLength > bufferBytes) {
    socket.destroy()
    return
  }
  // Corked and not put off: whatever else is written to it keeps its place.
  if (socket.writableCorked === 0) {
    socket.cork()
    writeInTurn(() => socket.uncork())
  }
  socket.write(data)
}
