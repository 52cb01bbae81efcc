import type { Host } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import type { Socket } from 'node:net'
import type { RawData, WebSocket } from 'ws'
import { idempotencyKey } from '../http/idempotent.js'
import { bodyOf, toAskbackError } from '../http/responses.js'
import type { AllEvents, AllEventsReader } from './all-events.js'
import { type Feeds, type Feed, isInLog } from './feed.js'
import { type OpenStream, type OpenStreams, writeOrDisconnect, type EventReader } from './open-streams.js'
import type { StreamCaller, StreamGuard } from './register.js'
import {
  ALL_SESSIONS,
  jsonFrame,
  wsEncoding,
  parseOp,
  type Ref,
  type WsOp,
  type WsOpOf,
} from './ws-messages.js'

export interface WsConnectionOptions {
  host: Host
  feeds: Feeds
  all: AllEvents
  streams: OpenStreams
  bufferBytes: number
  jsonDepth: number
  onError: (error: unknown) => void
}

/** With this many operations in progress, nothing more is read from the client. */
const MAX_CONCURRENT_OPS = 64
/** Close code: the service restarts. */
export const SERVICE_RESTART = 1012

/** One client, with one WebSocket for all its sessions. */
export class WsConnection implements OpenStream {
  readonly key: string
  readonly #ws: WebSocket
  readonly #socket: Socket
  readonly #caller: StreamCaller
  readonly #options: WsConnectionOptions
  readonly #subscriptions = new Map<string, Subscription>()
  readonly #allEventsReader: AllEventsReader
  #opsInProgress = 0
  #isAlive = true
  #isDraining = false

  constructor(peer: { ws: WebSocket; socket: Socket; caller: StreamCaller }, options: WsConnectionOptions) {
    this.#ws = peer.ws
    this.#socket = peer.socket
    this.#caller = peer.caller
    const { guard } = peer.caller
    this.#allEventsReader = { socket: peer.socket, guard, finish: () => this.#resyncAll() }
    this.key = peer.caller.key
    this.#options = options
    // Each subscription that catches up adds a listener for `drain`.
    this.#socket.setMaxListeners(0)
    this.#ws.on('pong', () => (this.#isAlive = true))
    this.#ws.on('message', (data, isBinary) => this.#receive(data, isBinary))
    // A protocol error of the peer ends the connection, and is not logged.
    this.#ws.on('error', () => this.#ws.terminate())
    this.#ws.on('close', () => {
      options.streams.remove(this)
      this.#dropAll()
    })
  }

  heartbeat(): void {
    if (!this.#isAlive) return this.disconnect()
    this.#isAlive = false
    this.#ws.ping()
  }

  drain(): void {
    this.#isDraining = true
    // Nothing may follow the close frame.
    this.#dropAll()
    if (this.#opsInProgress === 0) this.#ws.close(SERVICE_RESTART, 'The gateway restarts.')
  }

  disconnect(): void {
    this.#ws.terminate()
  }

  #receive(data: RawData, isBinary: boolean): void {
    const op = isBinary
      ? { ref: null, error: new AskbackError('invalid_request', 'A frame must be text.') }
      : // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a socket of ws passes a Buffer, unless its `binaryType` is changed
        parseOp((data as Buffer).toString(), this.#options.jsonDepth)
    if ('error' in op) return this.#refuse(op.ref, op.error)
    if (this.#isDraining)
      return this.#refuse(op.ref, new AskbackError('unavailable', 'The gateway is going away.'))
    if (++this.#opsInProgress === MAX_CONCURRENT_OPS) this.#ws.pause()
    this.#run(op)
      .catch((error: unknown) => this.#refuse(op.ref, error))
      .finally(() => this.#done())
  }

  #done(): void {
    if (this.#opsInProgress-- === MAX_CONCURRENT_OPS) this.#ws.resume()
    if (this.#isDraining) this.drain()
  }

  #run(op: WsOp): Promise<void> {
    switch (op.op) {
      case 'subscribe':
        return op.sessionId === ALL_SESSIONS ? this.#subscribeToAll(op) : this.#subscribe(op)
      case 'unsubscribe':
        return this.#unsubscribe(op)
      case 'respond':
        return this.#respond(op)
      // The first `hello` of a page with a cookie was checked by `WsHello`; other clients have no proof.
      case 'hello':
      case 'ping':
        return Promise.resolve(this.#send({ ref: op.ref, ok: true }))
    }
  }

  async #subscribe({ ref, sessionId, after, log }: WsOpOf<'subscribe'>): Promise<void> {
    const { feeds } = this.#options
    const position = { feeds, sessionId, cursor: after, guard: this.#caller.guard }
    const subscription = new Subscription(this.#socket, position, (ended) => this.#resync(ended))
    this.#subscriptions.get(sessionId)?.end()
    this.#subscriptions.set(sessionId, subscription)
    try {
      if (!(await this.#caller.mayRead(sessionId)))
        throw new AskbackError('forbidden', 'This credential may not read that session.')
      const found = await subscription.open(log)
      await subscription.check()
      this.#send({ ref, ok: true })
      if (subscription.ended) return
      if (found) subscription.begin()
      else this.#resync(subscription)
    } catch (error) {
      this.#drop(subscription)
      throw error
    }
  }

  /** Delivers new events only: there is no cursor over all sessions. */
  async #subscribeToAll({ ref }: WsOpOf<'subscribe'>): Promise<void> {
    if (!this.#caller.person) throw new AskbackError('forbidden', 'Only people see all sessions.')
    await this.#options.all.add(this.#allEventsReader)
    this.#send({ ref, ok: true })
    // The client may have disconnected meanwhile.
    if (this.#ws.readyState !== this.#ws.OPEN) this.#options.all.remove(this.#allEventsReader)
  }

  async #unsubscribe({ ref, sessionId }: WsOpOf<'unsubscribe'>): Promise<void> {
    const subscription = this.#subscriptions.get(sessionId)
    if (subscription) this.#drop(subscription)
    if (sessionId === ALL_SESSIONS) this.#options.all.remove(this.#allEventsReader)
    this.#send({ ref, ok: true })
  }

  async #respond(op: WsOpOf<'respond'>): Promise<void> {
    const { ref, sessionId, interactionId, answer, digest, toolCallId } = op
    const { person, credential } = this.#caller
    if (!person) throw new AskbackError('forbidden', 'Only people settle interactions.')
    await this.#caller.checkNotRevoked()
    await this.#caller.guard?.check(sessionId, 'answer')
    await this.#caller.guard?.checkScope(answer)
    // The same key as over HTTP, where a client repeats an answer whose response was lost.
    const key = idempotencyKey(op.idempotencyKey, 'respond', credential)
    const { interaction, events } = await person.respond({
      sessionId,
      interactionId,
      answer,
      ...(digest !== undefined && { digest }),
      ...(toolCallId !== undefined && { toolCallId }),
      ...(key !== undefined && { idempotencyKey: key }),
    })
    this.#send({ ref, ok: true, interaction, events })
  }

  /** The client subscribes again, and loads its lists. */
  #resyncAll(): void {
    this.#options.all.remove(this.#allEventsReader)
    this.#write(wsEncoding.resync(ALL_SESSIONS))
  }

  #resync(subscription: Subscription): void {
    this.#drop(subscription)
    this.#write(wsEncoding.resync(subscription.sessionId))
  }

  #drop(subscription: Subscription): void {
    subscription.end()
    if (this.#subscriptions.get(subscription.sessionId) === subscription)
      this.#subscriptions.delete(subscription.sessionId)
  }

  #dropAll(): void {
    this.#options.all.remove(this.#allEventsReader)
    for (const subscription of this.#subscriptions.values()) subscription.end()
    this.#subscriptions.clear()
  }

  #refuse(ref: Ref, error: unknown): void {
    const known = toAskbackError(error)
    if (known.code === 'internal') this.#options.onError(error)
    this.#send({ ref, ok: false, ...bodyOf(known) })
  }

  #send(message: { ref: Ref; ok: boolean; [key: string]: unknown }): void {
    this.#write(jsonFrame(message))
  }

  #write(frame: Buffer): void {
    if (this.#ws.readyState === this.#ws.OPEN)
      writeOrDisconnect(this.#socket, frame, this.#options.bufferBytes)
  }
}

/** One session that a WebSocket follows. */
export class Subscription implements EventReader {
  readonly socket: Socket
  readonly sessionId: string
  cursor: number
  readonly guard: StreamGuard | null
  readonly finish: () => void
  readonly #feeds: Feeds
  #feed: Feed | null = null
  #ended = false

  constructor(
    socket: Socket,
    position: { feeds: Feeds; sessionId: string; cursor: number; guard: StreamGuard | null },
    finish: (subscription: Subscription) => void,
  ) {
    this.socket = socket
    this.sessionId = position.sessionId
    this.cursor = position.cursor
    this.finish = () => finish(this)
    this.guard = position.guard
    this.#feeds = position.feeds
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Resolves to whether its cursor is in the log. */
  async open(log: string | undefined): Promise<boolean> {
    if (this.#ended) return false
    this.#feed = this.#feeds.acquire(this.sessionId)
    return isInLog(this.#feed, this.cursor, log)
  }

  /** Rejects if the reader may not read the session. `begin` must follow in the same tick. */
  async check(): Promise<void> {
    await this.#feed?.checkReader(this.guard)
  }

  begin(): void {
    this.#feed?.add(this)
  }

  end(): void {
    this.#ended = true
    const feed = this.#feed
    if (!feed) return
    this.#feed = null
    feed.remove(this)
    this.#feeds.release(feed)
  }
}
