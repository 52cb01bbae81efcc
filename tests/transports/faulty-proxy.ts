import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

interface Connection {
  client: Socket
  upstream: Socket
  /** Not one that is kept for the next call. */
  isStream: boolean
  isStalled: boolean
}

/** Stands between a client and a server, and lets through what it is told to. */
export class FaultyProxy {
  readonly #server = createServer((client) => this.#accept(client))
  readonly #connections = new Set<Connection>()
  #target: number
  #isOffline = false
  #isFrozen = false
  #delayMs = 0
  #cutsNext = false

  constructor(target: number) {
    this.#target = target
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Where the server is now. */
  retarget(port: number): void {
    this.#target = port
  }

  cut(): void {
    for (const { client, upstream } of this.#connections) {
      client.destroy()
      upstream.destroy()
    }
  }

  /** Half of what comes next gets through. */
  cutMidFrame(): void {
    this.#cutsNext = true
  }

  /** Streams that are open now carry nothing any more. */
  stall(): void {
    for (const connection of this.#connections) connection.isStalled = connection.isStream
  }

  /** Nothing gets through, and nobody is told, until it is called with `false`: then all connections end. */
  freeze(isFrozen: boolean): void {
    this.#isFrozen = isFrozen
    for (const connection of this.#connections) connection.isStalled = isFrozen
    if (!isFrozen) this.cut()
  }

  /** Everything takes so long to get through, each way. */
  delay(ms: number): void {
    this.#delayMs = ms
  }

  offline(isOffline: boolean): void {
    this.#isOffline = isOffline
    if (isOffline) this.cut()
  }

  async close(): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #later(pass: () => void): void {
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
      if (!connection.isStalled) this.#later(() => upstream.write(data))
    })
    upstream.on('data', (data) => {
      if (connection.isStalled) return
      if (!this.#cutsNext) return this.#later(() => client.write(data))
      this.#cutsNext = false
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
