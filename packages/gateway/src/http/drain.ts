import { AskbackError } from '@askback/protocol'
import type { StopSignal } from '@askback/core'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

/*
 * How a gateway stops: `Drain` says that it is stopping, `LongPoll` ends its wait then, and `InFlight` waits for all other requests
 * that have begun.
 */

/** Whether the gateway is stopping: new writes are refused from then on. */
export class Drain {
  #started = false
  readonly #listeners = new BoxedSet<() => void>()

  get started(): boolean {
    return this.#started
  }

  start(): void {
    if (this.#started) return
    this.#started = true
    for (const listener of this.#listeners) listener()
  }

  /** Calls back when draining starts, or at once if it has. */
  onStart(listener: () => void): () => void {
    if (!this.#started) return this.#listeners.add(listener)
    listener()
    return () => undefined
  }

  /** Throws `unavailable` if draining has started. */
  checkWrite(): void {
    if (!this.#started) return
    throw new AskbackError('unavailable', 'This gateway is stopping. Try again with the same key.')
  }
}

/** The requests whose responses are not sent yet. */
export class InFlight {
  readonly #responses = new BoxedSet<ServerResponse>()
  #ending = false

  constructor(server: Server) {
    server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
      if (this.#ending) response.shouldKeepAlive = false
      response.once('close', this.#responses.add(response))
    })
  }

  /** Ends the connections of all current requests, also of those that another server received. */
  destroyAll(): void {
    for (const response of this.#responses) response.destroy()
  }

  /** Resolves when the responses to all current requests are sent. Their connections are not kept alive, so that clients reconnect elsewhere. */
  async end(): Promise<void> {
    this.#ending = true
    const now = [...this.#responses]
    for (const response of now) if (!response.headersSent) response.shouldKeepAlive = false
    await Promise.all(now.map((response) => new Promise((resolve) => response.once('close', resolve))))
  }
}

/**
 * The abort signal of a long poll: it aborts when the time is over, the client disconnects, its credential is revoked, or the gateway
 * drains. Every request that waits creates one, and an `AbortController` would be its most expensive part.
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

  /** Removes the timer and the listeners. */
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
 * A set for members that are added and removed by the thousand per second. When a `Set` grows, V8 links its old table to the new one; once
 * an old table reaches the old generation, it keeps everything alive that was ever in the set. Here each member is in a box that is
 * emptied when the member is removed, so that only empty boxes stay alive.
 */
export class BoxedSet<T> implements Iterable<T> {
  readonly #boxes = new Set<{ member: T | null }>()

  /** Returns a function that removes the member. */
  add(member: T): () => void {
    const box: { member: T | null } = { member }
    this.#boxes.add(box)
    return () => {
      box.member = null
      this.#boxes.delete(box)
    }
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const { member } of this.#boxes) if (member !== null) yield member
  }
}
