import { AskbackError } from '@askback/protocol'
import type { Pauses } from '../pauses.js'
import { isPassing } from './http-errors.js'
import { SocketConnection, type SocketConnectionOptions } from './socket-connection.js'
import { SocketRequests, unanswered } from './socket-requests.js'
import type { SocketSubscriptions } from './socket-subscriptions.js'

export interface SocketLinkOptions extends Omit<SocketConnectionOptions, 'clock'> {
  pauses: Pauses
  subscriptions: SocketSubscriptions
  /** Of a browser login: sent before anything else, as a page cannot send it in a header. */
  proof: () => string | null
  /** Throws what the gateway has against this client: a socket that is refused does not tell. */
  probe: () => Promise<unknown>
}

type Opening = (error: AskbackError | null) => void

/** A socket that nobody reads stays open for this long, as somebody may come back. */
const LINGER_MS = 10_000

/** Keeps the one socket open for as long as it is needed, and opens it anew when it is lost. */
export class SocketLink {
  readonly #options: SocketLinkOptions
  readonly #requests: SocketRequests
  #state: 'idle' | 'connecting' | 'open' | 'pausing' | 'closed' = 'idle'
  #connection: SocketConnection | null = null
  /** Of whoever has something to send while it opens. */
  #opening: Opening[] = []
  #disarmLinger: () => void = () => undefined

  constructor(options: SocketLinkOptions) {
    this.#options = options
    this.#requests = new SocketRequests(options.pauses.clock)
  }

  /** Rejects with `unavailable` if the socket is lost before the reply. */
  async request(op: Record<string, unknown>): Promise<Record<string, unknown>> {
    await this.#opened()
    this.#linger()
    return new Promise((resolve, reject) => {
      this.#send(op, (reply) => (reply instanceof AskbackError ? reject(reply) : resolve(reply)))
    })
  }

  /** The readers of this session have changed. */
  subscribe(sessionId: string): void {
    this.#disarmLinger()
    if (this.#state === 'open') this.#sendSubscription(sessionId)
    else this.#start()
  }

  unsubscribe(sessionId: string): void {
    if (this.#state === 'open') this.#send({ op: 'unsubscribe', sessionId })
    this.#linger()
  }

  lose(): void {
    this.#connection?.drop()
  }

  close(): void {
    this.#state = 'closed'
    this.#disarmLinger()
    this.#connection?.drop()
    this.#options.subscriptions.endAll()
  }

  #start(): void {
    if (this.#state !== 'idle') return
    // Whatever it meets, it tells the readers.
    this.#run().catch(() => undefined)
  }

  async #run(): Promise<void> {
    const { subscriptions, pauses } = this.#options
    let failures = 0
    do {
      const { heard } = await this.#connect()
      if (this.#isClosed) return
      this.#state = 'pausing'
      failures = heard ? 1 : failures + 1
      subscriptions.tellAll({ type: 'connection', status: 'offline', error: unanswered() })
      if (subscriptions.size === 0 || (!heard && !(await this.#isWelcome()))) break
      await pauses.before(failures)
    } while (!this.#isClosed && subscriptions.size > 0)
    if (this.#isClosed) return
    this.#state = 'idle'
    // Somebody may have come while the others were told.
    if (subscriptions.size > 0) this.#start()
  }

  /** Resolves when the connection is over. */
  async #connect(): Promise<{ heard: boolean }> {
    this.#state = 'connecting'
    const { clock } = this.#options.pauses
    this.#connection = new SocketConnection(
      { ...this.#options, clock },
      {
        open: () => this.#begin(),
        message: (frame) => this.#receive(frame),
        ping: () => this.#send({ op: 'ping' }),
      },
    )
    const seen = await this.#connection.over
    this.#connection = null
    this.#requests.lose()
    for (const opening of this.#opening.splice(0)) opening(unanswered())
    return seen
  }

  #begin(): void {
    this.#state = 'open'
    const proof = this.#options.proof()
    if (proof !== null) this.#sayHello(proof)
    for (const sessionId of this.#options.subscriptions.sessionIds) this.#sendSubscription(sessionId)
    for (const opening of this.#opening.splice(0)) opening(null)
  }

  /** What follows is sent without waiting: the gateway looks at nothing before it knows the proof. */
  #sayHello(proof: string): void {
    this.#send({ op: 'hello', proof }, (reply) => {
      if (reply instanceof AskbackError && !isPassing(reply)) this.#options.subscriptions.failAll(reply)
    })
  }

  async #opened(): Promise<void> {
    if (this.#state === 'open') return
    if (this.#state === 'pausing' || this.#state === 'closed') throw unanswered()
    await new Promise<void>((resolve, reject) => {
      this.#opening.push((error) => (error ? reject(error) : resolve()))
      this.#start()
    })
  }

  #sendSubscription(sessionId: string): void {
    const { subscriptions } = this.#options
    const place = subscriptions.placeOf(sessionId)
    if (!place) return
    this.#send({ op: 'subscribe', sessionId, ...place }, (reply) => {
      if (!(reply instanceof AskbackError))
        subscriptions.tell({ type: 'connection', status: 'live' }, sessionId)
      else if (!isPassing(reply)) subscriptions.fail(sessionId, reply)
    })
  }

  #receive(frame: unknown): void {
    if (typeof frame !== 'object' || frame === null) throw new Error('Not a frame of the gateway.')
    const { op, ref, sessionId, event } = frame as Record<string, unknown>
    const { subscriptions } = this.#options
    if (ref !== undefined) this.#requests.answer(ref, frame as Record<string, unknown>)
    else if (typeof sessionId !== 'string') return
    else if (op === 'resync') subscriptions.resync(sessionId)
    else if (op === 'event' || op === 'live') subscriptions.take(sessionId, event)
  }

  /** Whether it is worth while to try again; if not, everyone is told why. */
  async #isWelcome(): Promise<boolean> {
    try {
      await this.#options.probe()
    } catch (error) {
      if (!(error instanceof AskbackError) || isPassing(error)) return true
      this.#options.subscriptions.failAll(error)
      return false
    }
    return true
  }

  #linger(): void {
    const { pauses, subscriptions } = this.#options
    this.#disarmLinger()
    if (subscriptions.size > 0 || this.#isClosed) return
    this.#disarmLinger = pauses.clock.alarm(pauses.clock.now() + LINGER_MS, () => {
      if (subscriptions.size === 0) this.#connection?.drop()
    })
  }

  #send(
    op: Record<string, unknown>,
    done: (reply: Record<string, unknown> | AskbackError) => void = () => undefined,
  ): void {
    this.#connection?.send({ ...op, ref: this.#requests.expect(done) })
  }

  get #isClosed(): boolean {
    return this.#state === 'closed'
  }
}
