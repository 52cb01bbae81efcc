import { Client, type ClientConfig } from 'pg'
import { setTimeout as delay } from 'node:timers/promises'
import { pause } from './database.js'

const LOOK_MS = 10_000

/** The one connection that is kept: it listens, is looked at now and then, and made anew when it is lost. */
export class Listening {
  readonly #config: ClientConfig
  readonly #channel: string
  readonly #heard: (payload: string) => void
  #client: Client | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(config: ClientConfig, channel: string, heard: (payload: string) => void) {
    this.#config = config
    this.#channel = channel
    this.#heard = heard
  }

  async open(): Promise<void> {
    const client = new Client({ ...this.#config, connectionTimeoutMillis: 5000, query_timeout: LOOK_MS })
    client.on('notification', ({ payload = '' }) => this.#heard(payload))
    client.on('error', () => undefined)
    try {
      await client.connect()
      client.once('end', () => this.#lost(client))
      await client.query(`LISTEN "${this.#channel.replaceAll('"', '""')}"`)
    } catch (error) {
      // Each attempt would leave one behind, and a server has only so many.
      client.end().catch(() => undefined)
      throw error
    }
    if (this.#closed) return client.end()
    this.#client = client
    this.#look(client)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#client?.end()
  }

  /** One that was cut without a word would stay silent for ever. */
  #look(client: Client): void {
    this.#timer = setTimeout(() => {
      client.query('SELECT 1').then(
        () => this.#client === client && !this.#closed && this.#look(client),
        () => this.#lost(client),
      )
    }, LOOK_MS)
    this.#timer.unref()
  }

  #lost(client: Client): void {
    if (this.#closed || this.#client !== client) return
    this.#client = undefined
    clearTimeout(this.#timer)
    client.end().catch(() => undefined)
    void this.#openAgain()
  }

  async #openAgain(): Promise<void> {
    for (let attempt = 0; !this.#closed; attempt++) {
      try {
        return await this.open()
      } catch {
        await delay(pause(attempt))
      }
    }
  }
}
