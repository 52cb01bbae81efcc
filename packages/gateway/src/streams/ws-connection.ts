import type { Host } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import type { Socket } from 'node:net'
import type { RawData, WebSocket } from 'ws'
import { idempotencyKey } from '../http/idempotent.js'
import { bodyOf, toAskbackError } from '../http/responses.js'
import type { AllEvents } from './all-events.js'
import { type Feeds, type Feed, findPlace } from './feed.js'
import { type OpenStream, type OpenStreams, writeOrCut, type Reader } from './open-streams.js'
import type { Caller } from './register.js'
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

/** A client that sends more before these are answered is not read from until then. */
const MOST_AT_ONCE = 64
const GOING_AWAY = 1012

/** One client with one socket for all its sessions. */
export class WsConnection implements OpenStream {
  readonly key: string
  readonly #ws: WebSocket
  readonly #socket: Socket
  readonly #caller: Caller
  readonly #options: WsConnectionOptions
  readonly #subscriptions = new Map<string, Subscription>()
  readonly #listening: { socket: Socket }
  #underway = 0
  #alive = true
  #draining = false

  constructor(peer: { ws: WebSocket; socket: Socket; caller: Caller }, options: WsConnectionOptions) {
    this.#ws = peer.ws
    this.#socket = peer.socket
    this.#listening = { socket: peer.socket }
    this.#caller = peer.caller
    this.key = peer.caller.key
    this.#options = options
    // Each subscription that catches up waits for it to drain.
    this.#socket.setMaxListeners(0)
    this.#ws.on('pong', () => (this.#alive = true))
    this.#ws.on('message', (data, isBinary) => this.#receive(data, isBinary))
    // What is wrong with the peer ends the connection, and that is all.
    this.#ws.on('error', () => this.#ws.terminate())
    this.#ws.on('close', () => {
      options.streams.remove(this)
      this.#dropAll()
    })
  }

  beat(): void {
    if (!this.#alive) return this.cut()
    this.#alive = false
    this.#ws.ping()
  }

  drain(): void {
    this.#draining = true
    // Nothing may follow the close frame.
    this.#dropAll()
    if (this.#underway === 0) this.#ws.close(GOING_AWAY, 'The gateway restarts.')
  }

  cut(): void {
    this.#ws.terminate()
  }

  #receive(data: RawData, isBinary: boolean): void {
    const op = isBinary
      ? { ref: null, error: new AskbackError('invalid_request', 'A frame must be text.') }
      : parseOp((data as Buffer).toString(), this.#options.jsonDepth)
    if ('error' in op) return this.#refuse(op.ref, op.error)
    if (this.#draining)
      return this.#refuse(op.ref, new AskbackError('unavailable', 'The gateway is going away.'))
    if (++this.#underway === MOST_AT_ONCE) this.#ws.pause()
    this.#run(op)
      .catch((error: unknown) => this.#refuse(op.ref, error))
      .finally(() => this.#done())
  }

  #done(): void {
    if (this.#underway-- === MOST_AT_ONCE) this.#ws.resume()
    if (this.#draining) this.drain()
  }

  #run(op: WsOp): Promise<void> {
    switch (op.op) {
      case 'subscribe':
        return op.sessionId === ALL_SESSIONS ? this.#subscribeToAll(op) : this.#subscribe(op)
      case 'unsubscribe':
        return this.#unsubscribe(op)
      case 'respond':
        return this.#respond(op)
      // Of a page by cookie the first one was checked already; others have no proof to show.
      case 'hello':
      case 'ping':
        return Promise.resolve(this.#send({ ref: op.ref, ok: true }))
    }
  }

  async #subscribe({ ref, sessionId, after, log }: WsOpOf<'subscribe'>): Promise<void> {
    const { feeds } = this.#options
    const place = { feeds, sessionId, cursor: after }
    const subscription = new Subscription(this.#socket, place, (ended) => this.#resync(ended))
    this.#subscriptions.get(sessionId)?.end()
    this.#subscriptions.set(sessionId, subscription)
    try {
      if (!(await this.#caller.mayRead(sessionId)))
        throw new AskbackError('forbidden', 'This credential may not read that session.')
      const found = await subscription.open(log)
      this.#send({ ref, ok: true })
      if (subscription.ended) return
      if (found) subscription.begin()
      else this.#resync(subscription)
    } catch (error) {
      this.#drop(subscription)
      throw error
    }
  }

  /** From now on: a cursor would mean nothing. */
  async #subscribeToAll({ ref }: WsOpOf<'subscribe'>): Promise<void> {
    if (!this.#caller.person) throw new AskbackError('forbidden', 'Only people see all sessions.')
    await this.#options.all.add(this.#listening)
    this.#send({ ref, ok: true })
    // It may have gone meanwhile.
    if (this.#ws.readyState !== this.#ws.OPEN) this.#options.all.remove(this.#listening)
  }

  async #unsubscribe({ ref, sessionId }: WsOpOf<'unsubscribe'>): Promise<void> {
    const subscription = this.#subscriptions.get(sessionId)
    if (subscription) this.#drop(subscription)
    if (sessionId === ALL_SESSIONS) this.#options.all.remove(this.#listening)
    this.#send({ ref, ok: true })
  }

  async #respond(op: WsOpOf<'respond'>): Promise<void> {
    const { ref, sessionId, interactionId, answer, digest, toolCallId } = op
    const { person, credential } = this.#caller
    if (!person) throw new AskbackError('forbidden', 'Only people settle interactions.')
    await this.#caller.checkStillGood()
    // The same record as over HTTP, where an answer whose reply was lost is sent again.
    const key = idempotencyKey(op.idempotencyKey, 'respond', credential)
    const { interaction, events } = await this.#options.host.desk.respond({
      sessionId,
      interactionId,
      answer,
      ...person,
      ...(digest !== undefined && { digest }),
      ...(toolCallId !== undefined && { toolCallId }),
      ...(key !== undefined && { idempotencyKey: key }),
    })
    this.#send({ ref, ok: true, interaction, events })
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
    this.#options.all.remove(this.#listening)
    for (const subscription of this.#subscriptions.values()) subscription.end()
    this.#subscriptions.clear()
  }

  #refuse(ref: Ref, error: unknown): void {
    const told = toAskbackError(error)
    if (told.code === 'internal') this.#options.onError(error)
    this.#send({ ref, ok: false, ...bodyOf(told) })
  }

  #send(message: { ref: Ref; ok: boolean; [key: string]: unknown }): void {
    this.#write(jsonFrame(message))
  }

  #write(frame: Buffer): void {
    if (this.#ws.readyState === this.#ws.OPEN) writeOrCut(this.#socket, frame, this.#options.bufferBytes)
  }
}

/** One session on a WebSocket. */
export class Subscription implements Reader {
  readonly socket: Socket
  readonly sessionId: string
  cursor: number
  readonly finish: () => void
  readonly #feeds: Feeds
  #feed: Feed | null = null
  #ended = false

  constructor(
    socket: Socket,
    place: { feeds: Feeds; sessionId: string; cursor: number },
    finish: (subscription: Subscription) => void,
  ) {
    this.socket = socket
    this.sessionId = place.sessionId
    this.cursor = place.cursor
    this.finish = () => finish(this)
    this.#feeds = place.feeds
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Whether its cursor lies in the log. */
  async open(log: string | undefined): Promise<boolean> {
    if (this.#ended) return false
    this.#feed = this.#feeds.lease(this.sessionId)
    return findPlace(this.#feed, this.cursor, log)
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
