import { Duplex } from 'node:stream'
import type { Mount } from './mount.js'

/**
 * One end of a connection inside this process. `http` treats it like a socket, so that a request of the Fetch API is served by the
 * same code as one from the network, with the same backpressure: a write ends when the other end has taken it.
 */
export class MemorySocket extends Duplex {
  /** How requests on this connection came; only on the gateway's end. */
  readonly mount: Mount | null
  /** Whether the request came over TLS. */
  readonly encrypted: boolean
  #peer: MemorySocket | null = null
  /** Ends a write of the other end, once this end wants more. */
  #onTaken: (() => void) | null = null

  private constructor(mount: Mount | null, encrypted: boolean) {
    super()
    this.mount = mount
    this.encrypted = encrypted
  }

  /** The two ends of a connection. */
  static pair(
    mount: Mount,
    { isSecure }: { isSecure: boolean },
  ): { client: MemorySocket; server: MemorySocket } {
    const [client, server] = [new MemorySocket(null, isSecure), new MemorySocket(mount, isSecure)]
    client.#peer = server
    server.#peer = client
    return { client, server }
  }

  /** As of `net.Socket`: closes when everything is written. */
  destroySoon(): void {
    if (this.writable) this.end()
    if (this.writableFinished) this.destroy()
    else this.once('finish', () => this.destroy())
  }

  // Settings of network connections, which `http` changes.
  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  setTimeout(): this {
    return this
  }

  override _read(): void {
    this.#taken()
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    const peer = this.#peer
    // A peer that is gone takes nothing, as on the network.
    if (!peer || peer.destroyed || peer.push(chunk)) done()
    else peer.#onTaken = done
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.#peer && !this.#peer.destroyed) this.#peer.push(null)
    done()
  }

  /** The other end still reads what was written before a regular end, and is closed by any other. */
  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const peer = this.#peer
    this.#peer = null
    this.#taken()
    if (peer && !peer.destroyed && !this.writableFinished) peer.destroy()
    done(error)
  }

  #taken(): void {
    const onTaken = this.#onTaken
    this.#onTaken = null
    onTaken?.()
  }
}
