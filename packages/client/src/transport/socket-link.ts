/**
 * Keeps the one WebSocket of a transport open for as long as somebody uses it, and opens it again when it is lost.
 *
 *   idle ──(a reader or a request)──▶ connecting ──▶ open ──(lost)──▶ waiting ──(backoff)──▶ connecting
 *    ▲                                    └────────(lost)─────────────▲  │
 *    └──────────────(no readers left, or the gateway refuses us)─────────┘
 *
 * A gateway that refuses a socket does not say why, so the link then asks over HTTP (`probe`). If that is refused for good, the
 * readers get the error and nothing is tried again.
 */
import { AskbackError, type Backoff, type Clock } from '@askback/protocol'
import { errorFromBody, isRetryable, unreachable } from './gateway-errors.js'
import { SocketConnection, type SocketConnectionOptions } from './socket-connection.js'
import type { SocketSubscriptions } from './socket-subscriptions.js'

export interface SocketLinkOptions extends Omit<SocketConnectionOptions, 'clock'> {
  backoff: Backoff
  subscriptions: SocketSubscriptions
  /** The proof of a browser login. It is sent before anything else, as a page cannot send it in a header. */
  proof: () => string | null
  /** Makes a request over HTTP, and throws what the gateway has against this client. */
  probe: () => Promise<unknown>
}

/** A socket without readers stays open for this long, as somebody may come back. */
const LINGER_MS = 10_000

export class SocketLink {
  readonly #options: SocketLinkOptions
  readonly #requests: PendingRequests
  #state: 'idle' | 'connecting' | 'open' | 'waiting' | 'closed' = 'idle'
  #connection: SocketConnection | null = null
  /** Requests that wait until the socket is open, or has failed to open. */
  #onOpened: ((error: AskbackError | null) => void)[] = []
  #cancelLinger: () => void = () => undefined

  constructor(options: SocketLinkOptions) {
    this.#options = options
    this.#requests = new PendingRequests(options.backoff.clock)
  }

  /** Sends a request and resolves with its reply. Rejects with `unavailable` if the socket is lost before that. */
  async request(op: Record<string, unknown>): Promise<SocketReply> {
    await this.#opened()
    this.#closeWhenUnused()
    return new Promise((resolve, reject) => {
      this.#send(op, (reply) => (reply instanceof AskbackError ? reject(reply) : resolve(reply)))
    })
  }

  /** Subscribes to a session, or again if it has another reader. */
  subscribe(sessionId: string): void {
    this.#cancelLinger()
    if (this.#state === 'open') this.#sendSubscription(sessionId)
    else this.#start()
  }

  unsubscribe(sessionId: string): void {
    if (this.#state === 'open') this.#send({ op: 'unsubscribe', sessionId })
    this.#closeWhenUnused()
  }

  /** Gives up the socket; the next one follows after a pause. */
  reconnect(): void {
    this.#connection?.drop()
  }

  close(): void {
    this.#state = 'closed'
    this.#cancelLinger()
    this.#connection?.drop()
    this.#options.subscriptions.endAll()
  }

  #start(): void {
    if (this.#state !== 'idle') return
    // It does not reject: readers and requests get every error.
    this.#run().catch(() => undefined)
  }

  async #run(): Promise<void> {
    const { subscriptions, backoff } = this.#options
    let failures = 0
    do {
      const { received } = await this.#connect()
      if (this.#isClosed) return
      this.#state = 'waiting'
      failures = received ? 1 : failures + 1
      subscriptions.publishAll({ type: 'connection', status: 'offline', error: unreachable() })
      if (subscriptions.size === 0 || (!received && !(await this.#isWorthRetrying()))) break
      await backoff.wait(failures)
    } while (!this.#isClosed && subscriptions.size > 0)
    if (this.#isClosed) return
    this.#state = 'idle'
    // A reader may have come while the others got their error.
    if (subscriptions.size > 0) this.#start()
  }

  /** Opens a socket and resolves when it is closed. */
  async #connect(): Promise<{ received: boolean }> {
    this.#state = 'connecting'
    const { clock } = this.#options.backoff
    this.#connection = new SocketConnection(
      { ...this.#options, clock },
      {
        open: () => this.#begin(),
        message: (frame) => this.#receive(frame),
        ping: () => this.#send({ op: 'ping' }),
      },
    )
    const result = await this.#connection.closed
    this.#connection = null
    this.#requests.failAll()
    for (const onOpened of this.#onOpened.splice(0)) onOpened(unreachable())
    return result
  }

  #begin(): void {
    this.#state = 'open'
    const proof = this.#options.proof()
    if (proof !== null) this.#sendHello(proof)
    for (const sessionId of this.#options.subscriptions.sessionIds) this.#sendSubscription(sessionId)
    for (const onOpened of this.#onOpened.splice(0)) onOpened(null)
  }

  /** The next messages are sent without waiting for the reply: the gateway handles none of them before it has the proof. */
  #sendHello(proof: string): void {
    this.#send({ op: 'hello', proof }, (reply) => {
      if (reply instanceof AskbackError && !isRetryable(reply)) this.#options.subscriptions.failAll(reply)
    })
  }

  async #opened(): Promise<void> {
    if (this.#state === 'open') return
    if (this.#state === 'waiting' || this.#state === 'closed') throw unreachable()
    await new Promise<void>((resolve, reject) => {
      this.#onOpened.push((error) => (error ? reject(error) : resolve()))
      this.#start()
    })
  }

  #sendSubscription(sessionId: string): void {
    const { subscriptions } = this.#options
    const start = subscriptions.startOf(sessionId)
    if (!start) return
    this.#send({ op: 'subscribe', sessionId, ...start }, (reply) => {
      if (!(reply instanceof AskbackError))
        subscriptions.publish({ type: 'connection', status: 'live' }, sessionId)
      else if (!isRetryable(reply)) subscriptions.fail(sessionId, reply)
    })
  }

  #receive(frame: unknown): void {
    if (typeof frame !== 'object' || frame === null) throw new Error('Not a frame of the gateway.')
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the gateway is trusted; fields that decide something are checked
    const { op, ref, sessionId, event } = frame as Record<string, unknown>
    const { subscriptions } = this.#options
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the gateway is trusted; fields that decide something are checked
    if (ref !== undefined) this.#requests.receive(ref, frame as SocketReply)
    else if (typeof sessionId !== 'string') return
    else if (op === 'resync') subscriptions.resync(sessionId)
    else if (op === 'gone') subscriptions.gone(sessionId)
    else if (op === 'event' || op === 'live') subscriptions.receive(sessionId, event)
  }

  /** Whether the next attempt may succeed; if not, all readers get the reason. */
  async #isWorthRetrying(): Promise<boolean> {
    try {
      await this.#options.probe()
    } catch (error) {
      if (!(error instanceof AskbackError) || isRetryable(error)) return true
      this.#options.subscriptions.failAll(error)
      return false
    }
    return true
  }

  #closeWhenUnused(): void {
    const { backoff, subscriptions } = this.#options
    this.#cancelLinger()
    if (subscriptions.size > 0 || this.#isClosed) return
    this.#cancelLinger = backoff.clock.alarm(backoff.clock.now() + LINGER_MS, () => {
      if (subscriptions.size === 0) this.#connection?.drop()
    })
  }

  #send(
    op: Record<string, unknown>,
    onReply: (reply: SocketReply | AskbackError) => void = () => undefined,
  ): void {
    this.#connection?.send({ ...op, ref: this.#requests.add(onReply) })
  }

  get #isClosed(): boolean {
    return this.#state === 'closed'
  }
}

type SocketReply = Record<string, unknown>

interface PendingRequest {
  onReply: (reply: SocketReply | AskbackError) => void
  cancelTimeout: () => void
}

const REPLY_TIMEOUT_MS = 30_000

/** The requests that were sent over the socket and have no reply yet. */
class PendingRequests {
  readonly #clock: Clock
  readonly #pending = new Map<string, PendingRequest>()
  #count = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Returns the `ref` to send the request with. `onReply` is called while the frame of the reply is handled, so before any
   * later frame.
   */
  add(onReply: PendingRequest['onReply']): string {
    const ref = String(++this.#count)
    const onTimeout = () => this.#finish(ref, unreachable())
    const cancelTimeout = this.#clock.alarm(this.#clock.now() + REPLY_TIMEOUT_MS, onTimeout)
    this.#pending.set(ref, { onReply, cancelTimeout })
    return ref
  }

  receive(ref: unknown, reply: SocketReply): void {
    const error = () => errorFromBody(reply['error'], { code: 'internal', message: 'The gateway refused.' })
    this.#finish(String(ref), reply['ok'] === true ? reply : error())
  }

  /** The socket is lost, and the replies with it. */
  failAll(): void {
    for (const ref of this.#pending.keys()) this.#finish(ref, unreachable())
  }

  #finish(ref: string, reply: SocketReply | AskbackError): void {
    const request = this.#pending.get(ref)
    this.#pending.delete(ref)
    request?.cancelTimeout()
    request?.onReply(reply)
  }
}
