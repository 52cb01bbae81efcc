import type { StopSignal } from '@askback/core'
import type { FastifyReply } from 'fastify'
import type { Drain } from './drain.js'

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
