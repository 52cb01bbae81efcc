import type { Bus, BusMessage } from '@askback/core'
import { doorbell } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import { randomUUID } from 'node:crypto'
import { addressOf, connect } from './database.js'
import { failure } from './failure.js'
import { Listening } from './listening.js'
import { payloads, Outgoing, readPayload } from './outgoing.js'

export interface PostgresBusOptions {
  url: string
  schema?: string
  /** For the one connection that listens, where `url` leads through a proxy that pools transactions. */
  listenUrl?: string
  onError?: (error: unknown) => void
}

/** What is only nice to see waits a little, so that one message carries much of it. */
const LIVE_MS = 25
const PROBE_MS = 5000

/** `LISTEN` and `NOTIFY`: one connection hears, another one tells. While they are cut, nothing comes and nothing is kept. */
export async function postgresBus(options: PostgresBusOptions): Promise<Bus> {
  const { url, schema = 'askback', listenUrl = url, onError = () => undefined } = options
  const channel = `askback ${schema}`.slice(0, 63)
  const self = randomUUID()
  const bell = doorbell<BusMessage>()
  const db = connect({ url, connections: 1, patienceMs: 0 })
  const outgoing = new Outgoing()
  let sending = false
  let due = false
  let timer: NodeJS.Timeout | undefined
  let heardOurselves: () => void = () => undefined
  let closed = false

  const listening = new Listening(addressOf(listenUrl).config, channel, (payload) => {
    const { from, messages } = readPayload(payload)
    if (from === self) return heardOurselves()
    for (const message of messages) bell.ring(message)
  })

  async function flush(): Promise<void> {
    timer = undefined
    if (sending || closed) return
    sending = true
    try {
      for (let messages = outgoing.take(); messages.length > 0; messages = outgoing.take())
        await send(messages)
    } catch (error) {
      // Lost: whoever should have heard it looks at the store now and then.
      onError(error)
    } finally {
      sending = false
    }
    if (outgoing.size > 0) void flush()
  }

  async function send(messages: BusMessage[]): Promise<void> {
    await db.write('SELECT pg_notify($1, p) FROM unnest($2::text[]) AS p', [
      channel,
      payloads(self, messages),
    ])
  }

  /** A proxy would take `LISTEN` and never pass anything on. */
  async function probe(): Promise<void> {
    const heard = new Promise<boolean>((resolve) => {
      heardOurselves = () => resolve(true)
      timer = setTimeout(() => resolve(false), PROBE_MS)
    })
    await db.write('SELECT pg_notify($1, $2)', [channel, JSON.stringify({ from: self, messages: [] })])
    const ok = await heard
    clearTimeout(timer)
    timer = undefined
    if (ok) return
    throw new AskbackError(
      'unavailable',
      `The database ${db.where} tells no news: give the direct address of PostgreSQL, without a proxy, with --store-listen.`,
    )
  }

  async function close(): Promise<void> {
    if (closed) return
    closed = true
    clearTimeout(timer)
    await listening.close()
    await db.close()
  }

  try {
    await listening.open()
    await probe()
  } catch (error) {
    await close()
    throw failure(error, db.where)
  }
  return {
    publish(message) {
      if (closed) return
      outgoing.add(message)
      if (message.type === 'live') timer ??= setTimeout(() => void flush(), LIVE_MS)
      else if (!due) {
        // What is published in the same moment, as for the appends of one commit, goes together.
        due = true
        process.nextTick(() => {
          due = false
          void flush()
        })
      }
    },
    on: (listener) => bell.on(listener),
    close,
  }
}
