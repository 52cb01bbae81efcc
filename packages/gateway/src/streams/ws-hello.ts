import type { Clock } from '@askback/core'
import type { RawData, WebSocket } from 'ws'
import { bodyOf, toAskbackError } from '../http/answers.js'
import type { OpenStream, OpenStreams } from './open-streams.js'
import type { Caller } from './options.js'
import { parseOp } from './ws-ops.js'

/** In the range that applications may use; after the HTTP status. */
const UNAUTHORIZED = 4401
const GOING_AWAY = 1012

export interface WsHelloOptions {
  key: string
  /** Throws for a proof that does not belong to the cookie. */
  confirm: (proof: string) => Caller
  /** Takes the socket over. */
  open: (caller: Caller) => void
  streams: OpenStreams
  jsonDepth: number
  clock: Clock
  helloMs: number
}

/**
 * A socket that came with a cookie, which any port of this host may have received. It is served once its first message
 * has brought the proof, `{ op: 'hello', proof }`; anything else, or too long a silence, closes it.
 */
export class WsHello implements OpenStream {
  readonly key: string
  readonly #ws: WebSocket
  readonly #options: WsHelloOptions
  readonly #disarm: () => void
  readonly #onMessage = (data: RawData, isBinary: boolean) => this.#receive(data, isBinary)
  readonly #onError = () => this.cut()
  readonly #onClose = () => this.#release()

  constructor(ws: WebSocket, options: WsHelloOptions) {
    const { key, clock, helloMs } = options
    this.key = key
    this.#ws = ws
    this.#options = options
    this.#disarm = clock.alarm(clock.now() + helloMs, () => this.#refuse())
    ws.on('message', this.#onMessage).on('error', this.#onError).on('close', this.#onClose)
  }

  /** Nothing to keep alive: it ends after `helloMs`. */
  beat(): void {}

  drain(): void {
    this.#ws.close(GOING_AWAY, 'The gateway restarts.')
  }

  cut(): void {
    this.#ws.terminate()
  }

  #receive(data: RawData, isBinary: boolean): void {
    // Frames behind one that was refused.
    if (this.#ws.readyState !== this.#ws.OPEN) return
    const op = isBinary ? null : parseOp((data as Buffer).toString(), this.#options.jsonDepth)
    if (!op || 'error' in op || op.op !== 'hello') return this.#refuse()
    let caller: Caller
    try {
      caller = this.#options.confirm(op.proof ?? '')
    } catch (error) {
      this.#ws.send(JSON.stringify({ ref: op.ref, ok: false, ...bodyOf(toAskbackError(error)) }))
      return this.#refuse()
    }
    this.#release()
    this.#options.open(caller)
    this.#ws.send(JSON.stringify({ ref: op.ref, ok: true }))
  }

  #refuse(): void {
    this.#ws.close(UNAUTHORIZED, 'Say hello with the proof of this login first.')
  }

  /** Closed, or handed over. */
  #release(): void {
    this.#disarm()
    this.#ws.off('message', this.#onMessage).off('error', this.#onError).off('close', this.#onClose)
    this.#options.streams.remove(this)
  }
}
