import type { Bus, BusMessage } from '@askback/core'
import { createDoorbell } from '@askback/core/store'
import { AskbackError, backoffMs } from '@askback/protocol'
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Client, type ClientConfig } from 'pg'
import { OutgoingMessages, parsePayload, payloadsOf } from './bus-messages.js'
import { BACKOFF, connect, parseAddress } from './database.js'
import { failure } from './failure.js'

/** The options of `postgresBus`. */
export interface PostgresBusOptions {
  /** `postgres://user:password@host:5432/name` */
  url: string
  /**
   * The schema of the store, so that several stores in one database have separate buses.
   *
   * @default 'askback'
   */
  schema?: string
  /**
   * The direct address of PostgreSQL, for the connection that listens, if `url` is that of a proxy that pools transactions.
   *
   * @default `url`
   */
  listenUrl?: string
  /** Called when messages could not be sent. They are lost; receivers find what they were about with their next poll. */
  onError?: (error: unknown) => void
}

/** How long deltas of live output are collected before they are sent. They only improve the display. */
const LIVE_DELAY_MS = 25
const PROBE_TIMEOUT_MS = 5000
const HEALTH_CHECK_MS = 10_000

/**
 * Opens a bus on `LISTEN` and `NOTIFY`: one connection listens, another notifies. While they are lost, messages are lost, too. Rejects
 * with `unavailable` if the database cannot be reached or a proxy does not pass on notifications.
 *
 * @example
 * const bus = await postgresBus({ url })
 * const desk = createDesk({ store: storeOnBus(await postgresStore({ url }), bus) })
 */
export async function postgresBus(options: PostgresBusOptions): Promise<Bus> {
  const { url, schema = 'askback', listenUrl = url, onError = () => undefined } = options
  const channel = `askback ${schema}`.slice(0, 63)
  const self = randomUUID()
  const bell = createDoorbell<BusMessage>()
  const db = connect({ url, connections: 1, retryForMs: 0 })
  const outgoing = new OutgoingMessages()
  let isSending = false
  let isScheduled = false
  let timer: NodeJS.Timeout | undefined
  let probeReceived: () => void = () => undefined
  let closed = false

  const listener = new NotificationListener(parseAddress(listenUrl).config, channel, (payload) => {
    const { from, messages } = parsePayload(payload)
    if (from === self) return probeReceived()
    for (const message of messages) bell.ring(message)
  })

  async function flush(): Promise<void> {
    timer = undefined
    if (isSending || closed) return
    isSending = true
    try {
      for (let messages = outgoing.take(); messages.length > 0; messages = outgoing.take())
        await send(messages)
    } catch (error) {
      // The messages are lost. Receivers also poll the store.
      onError(error)
    } finally {
      isSending = false
    }
    if (outgoing.size > 0) void flush()
  }

  async function send(messages: BusMessage[]): Promise<void> {
    await db.write('SELECT pg_notify($1, p) FROM unnest($2::text[]) AS p', [
      channel,
      payloadsOf(self, messages),
    ])
  }

  /** Sends a message to itself: a proxy that pools transactions accepts `LISTEN` but never passes a notification on. */
  async function probe(): Promise<void> {
    const received = new Promise<boolean>((resolve) => {
      probeReceived = () => resolve(true)
      timer = setTimeout(() => resolve(false), PROBE_TIMEOUT_MS)
    })
    await db.write('SELECT pg_notify($1, $2)', [channel, JSON.stringify({ from: self, messages: [] })])
    const isReceived = await received
    clearTimeout(timer)
    timer = undefined
    if (isReceived) return
    throw new AskbackError(
      'unavailable',
      `The database ${db.address} passes on no notifications: give the direct address of PostgreSQL, without a proxy, with --store-listen.`,
    )
  }

  async function close(): Promise<void> {
    if (closed) return
    closed = true
    clearTimeout(timer)
    await listener.close()
    await db.close()
  }

  try {
    await listener.open()
    await probe()
  } catch (error) {
    await close()
    throw failure(error, db.address)
  }
  return {
    publish(message) {
      if (closed) return
      outgoing.add(message)
      if (message.type === 'live') timer ??= setTimeout(() => void flush(), LIVE_DELAY_MS)
      else if (!isScheduled) {
        // Messages of the same tick, as after the appends of one commit, are sent together.
        isScheduled = true
        process.nextTick(() => {
          isScheduled = false
          void flush()
        })
      }
    },
    on: (listener) => bell.on(listener),
    close,
  }
}

/** A connection that listens on one channel, checks at intervals whether it still works, and reconnects when it is lost. */
export class NotificationListener {
  readonly #config: ClientConfig
  readonly #channel: string
  readonly #onPayload: (payload: string) => void
  #client: Client | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(config: ClientConfig, channel: string, onPayload: (payload: string) => void) {
    this.#config = config
    this.#channel = channel
    this.#onPayload = onPayload
  }

  async open(): Promise<void> {
    const client = new Client({
      ...this.#config,
      connectionTimeoutMillis: 5000,
      query_timeout: HEALTH_CHECK_MS,
    })
    client.on('notification', ({ payload = '' }) => this.#onPayload(payload))
    client.on('error', () => undefined)
    try {
      await client.connect()
      client.once('end', () => this.#reconnectAfter(client))
      await client.query(`LISTEN "${this.#channel.replaceAll('"', '""')}"`)
    } catch (error) {
      // Otherwise each attempt would leave a connection open, and a server accepts a limited number.
      client.end().catch(() => undefined)
      throw error
    }
    if (this.#closed) return client.end()
    this.#client = client
    this.#checkLater(client)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#client?.end()
  }

  /** A connection that the network dropped without an error would otherwise never be noticed. */
  #checkLater(client: Client): void {
    this.#timer = setTimeout(() => {
      client.query('SELECT 1').then(
        () => this.#client === client && !this.#closed && this.#checkLater(client),
        () => this.#reconnectAfter(client),
      )
    }, HEALTH_CHECK_MS)
    this.#timer.unref()
  }

  #reconnectAfter(client: Client): void {
    if (this.#closed || this.#client !== client) return
    this.#client = undefined
    clearTimeout(this.#timer)
    client.end().catch(() => undefined)
    void this.#reconnect()
  }

  async #reconnect(): Promise<void> {
    for (let failures = 1; !this.#closed; failures++) {
      try {
        return await this.open()
      } catch {
        await delay(backoffMs(failures, BACKOFF))
      }
    }
  }
}
