import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

interface ProxiedConnection {
  client: Socket
  upstream: Socket
  /** Whether it carries a stream, and not single requests. */
  isStream: boolean
  isStalled: boolean
}

/** A TCP proxy between a client and a server that can cut, stall, freeze and delay connections. */
export class FaultyProxy {
  readonly #server = createServer((client) => this.#accept(client))
  readonly #connections = new Set<ProxiedConnection>()
  #target: number
  #isOffline = false
  #isFrozen = false
  #delayMs = 0
  #cutsNextData = false

  constructor(target: number) {
    this.#target = target
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Sets the port of the server, for new connections. */
  retarget(port: number): void {
    this.#target = port
  }

  /** Cuts all connections. */
  cut(): void {
    for (const { client, upstream } of this.#connections) {
      client.destroy()
      upstream.destroy()
    }
  }

  /** Cuts a connection after half of the next data from the server. */
  cutMidFrame(): void {
    this.#cutsNextData = true
  }

  /** Lets nothing through any more on the streams that are open now, without closing them. */
  stall(): void {
    for (const connection of this.#connections) connection.isStalled = connection.isStream
  }

  /** With `true`, nothing gets through and no connection closes; `false` cuts all connections and ends that. */
  freeze(isFrozen: boolean): void {
    this.#isFrozen = isFrozen
    for (const connection of this.#connections) connection.isStalled = isFrozen
    if (!isFrozen) this.cut()
  }

  /** Delays everything by this many milliseconds, each way. */
  delay(ms: number): void {
    this.#delayMs = ms
  }

  /** With `true`, cuts all connections and refuses new ones. */
  offline(isOffline: boolean): void {
    this.#isOffline = isOffline
    if (isOffline) this.cut()
  }

  async close(): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #afterDelay(pass: () => void): void {
    if (this.#delayMs === 0) pass()
    else setTimeout(pass, this.#delayMs)
  }

  #accept(client: Socket): void {
    if (this.#isOffline) {
      client.destroy()
      return
    }
    const upstream = connect(this.#target, '127.0.0.1')
    const connection = { client, upstream, isStream: false, isStalled: this.#isFrozen }
    this.#connections.add(connection)
    client.on('data', (data) => {
      connection.isStream ||= /^GET \S*\/(events|ws)\b/.test(data.toString('latin1'))
      if (!connection.isStalled) this.#afterDelay(() => upstream.write(data))
    })
    upstream.on('data', (data) => {
      if (connection.isStalled) return
      if (!this.#cutsNextData) return this.#afterDelay(() => client.write(data))
      this.#cutsNextData = false
      client.write(data.subarray(0, Math.ceil(data.length / 2)), () => {
        client.destroy()
        upstream.destroy()
      })
    })
    for (const [one, another] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => another.destroy())
      one.on('end', () => another.end())
      one.on('close', () => {
        another.destroy()
        this.#connections.delete(connection)
      })
    }
  }
}
