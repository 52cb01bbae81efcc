import { AskbackError } from '@askback/protocol'
import type { StopSignal } from '@askback/core'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

/** Whether a gateway is stopping. Long polls end when that begins; other requests in flight are waited for. */
export class Drain {
  #started = false
  readonly #listeners = new Members<() => void>()

  get started(): boolean {
    return this.#started
  }

  start(): void {
    if (this.#started) return
    this.#started = true
    for (const listener of this.#listeners) listener()
  }

  onStart(listener: () => void): () => void {
    if (!this.#started) return this.#listeners.add(listener)
    listener()
    return () => undefined
  }

  /** Throws for a write that would begin now. */
  checkWrite(): void {
    if (!this.#started) return
    throw new AskbackError('unavailable', 'This gateway is stopping. Try again with the same key.')
  }
}

/** The requests that a server is answering. */
export class InFlight {
  readonly #responses = new Members<ServerResponse>()
  #ending = false

  constructor(server: Server) {
    server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
      if (this.#ending) response.shouldKeepAlive = false
      response.once('close', this.#responses.add(response))
    })
  }

  /** Resolves when those that are answered now have been. Connections that send more are told to go elsewhere. */
  async end(): Promise<void> {
    this.#ending = true
    const now = [...this.#responses]
    for (const response of now) if (!response.headersSent) response.shouldKeepAlive = false
    await Promise.all(now.map((response) => new Promise((resolve) => response.once('close', resolve))))
  }
}

/**
 * Ends the wait of a long poll: when its time is over, its caller is gone or revoked, or the gateway drains. Every question that is asked over
 * HTTP makes one, and an `AbortController` would be the dearest part of it.
 */
export class LongPoll implements StopSignal {
  aborted = false
  isRevoked = false
  readonly #listeners = new Set<() => void>()
  readonly #reply: FastifyReply
  readonly #timer: NodeJS.Timeout
  readonly #off: () => void

  constructor(
    reply: FastifyReply,
    drain: Drain,
    { seconds, onRevoked }: { seconds: number; onRevoked: (listener: () => void) => () => void },
  ) {
    this.#reply = reply
    this.#timer = setTimeout(this.#stop, seconds * 1000)
    const offDrain = drain.onStart(this.#stop)
    const offRevoked = onRevoked(() => {
      this.isRevoked = true
      this.#stop()
    })
    this.#off = () => {
      offDrain()
      offRevoked()
    }
    reply.raw.once('close', this.#stop)
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.add(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.delete(listener)
  }

  done(): void {
    clearTimeout(this.#timer)
    this.#off()
    this.#reply.raw.off('close', this.#stop)
  }

  readonly #stop = (): void => {
    if (this.aborted) return
    this.aborted = true
    for (const listener of this.#listeners) listener()
  }
}

/**
 * A set whose members come and go by the thousand. The table that a `Set` outgrew still points at the one it has now, and
 * once such a table is old, all that was ever in them grows old with it. Here that is an empty shell each.
 */
export class Members<T> implements Iterable<T> {
  readonly #shells = new Set<{ member: T | null }>()

  /** Returns what takes it out again. */
  add(member: T): () => void {
    const shell: { member: T | null } = { member }
    this.#shells.add(shell)
    return () => {
      shell.member = null
      this.#shells.delete(shell)
    }
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const { member } of this.#shells) if (member !== null) yield member
  }
}
