import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'

/** A socket whose peer reads when the test calls `drain`. */
export class FakeSocket extends EventEmitter {
  written = ''
  destroyed = false
  writableNeedDrain = false
  writableLength = 0
  readonly #capacity: number

  /** @param capacity - bytes that it buffers before it must be drained */
  constructor(capacity = Infinity) {
    super()
    this.#capacity = capacity
  }

  write(data: Buffer): boolean {
    if (this.destroyed) return false
    this.written += data.toString()
    this.writableLength += data.length
    this.writableNeedDrain = this.writableLength >= this.#capacity
    return !this.writableNeedDrain
  }

  drain(): void {
    this.writableLength = 0
    if (!this.writableNeedDrain) return
    this.writableNeedDrain = false
    this.emit('drain')
  }

  destroy(): void {
    this.destroyed = true
  }

  /** The same object, typed for a feed. */
  get socket(): Socket {
    return this as unknown as Socket
  }
}
