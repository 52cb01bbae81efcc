import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'

export interface WsFrame {
  op?: string
  ref?: unknown
  ok?: boolean
  sessionId?: string
  [key: string]: unknown
}

/** A client with one socket. Replies are found by `ref`; all other frames are read in order. */
export class WsClient {
  readonly ws: WebSocket
  readonly closed: Promise<number>
  /** Everything that was received, in order. */
  readonly frames: WsFrame[] = []
  #read = 0
  #refs = 0
  #waiting: (() => void)[] = []

  constructor(ws: WebSocket) {
    this.ws = ws
    ws.on('message', (data: Buffer) => {
      this.frames.push(JSON.parse(data.toString()) as WsFrame)
      for (const wake of this.#waiting.splice(0)) wake()
    })
    this.closed = new Promise((resolve) => ws.once('close', resolve))
  }

  /** Sends an operation and resolves to its reply. Other frames are left to `next`. */
  async ask(op: Record<string, unknown>): Promise<WsFrame> {
    const ref = `r${++this.#refs}`
    this.ws.send(JSON.stringify({ ref, ...op }))
    return this.answer(ref)
  }

  async answer(ref: unknown): Promise<WsFrame> {
    for (;;) {
      const found = this.frames.find((frame) => frame.ok !== undefined && frame.ref === ref)
      if (found) return found
      await this.#more()
    }
  }

  /** The next frame that is no reply. */
  async next(): Promise<WsFrame> {
    for (;;) {
      const frame = this.frames[this.#read]
      if (frame) this.#read++
      if (frame && frame.ok === undefined) return frame
      if (!frame) await this.#more()
    }
  }

  async take(count: number): Promise<WsFrame[]> {
    const taken: WsFrame[] = []
    while (taken.length < count) taken.push(await this.next())
    return taken
  }

  async #more(): Promise<void> {
    if (this.ws.readyState !== WebSocket.OPEN) throw new Error('The socket is closed.')
    const closed = this.closed.then(() => undefined)
    await Promise.race([closed, new Promise<void>((resolve) => this.#waiting.push(resolve))])
  }
}

/** Connects. Rejects with the HTTP status if the upgrade is refused. */
export async function wsClient(
  port: number,
  headers: Record<string, string> = {},
  options: { autoPong?: boolean } = {},
): Promise<WsClient> {
  const ws = new WebSocket(`ws://127.0.0.1:${port}/api/ws`, { headers, ...options })
  onTestFinished(() => ws.terminate())
  const client = new WsClient(ws)
  await once(ws, 'open')
  return client
}
