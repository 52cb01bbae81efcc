import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'

/** A socket whose peer reads when the test says so. */
export class FakeSocket extends EventEmitter {
  written = ''
  destroyed = false
  writableNeedDrain = false
  writableLength = 0
  readonly #takes: number

  /** How many bytes it takes before it must be drained. */
  constructor(takes = Infinity) {
    super()
    this.#takes = takes
  }

  write(data: Buffer): boolean {
    if (this.destroyed) return false
    this.written += data.toString()
    this.writableLength += data.length
    this.writableNeedDrain = this.writableLength >= this.#takes
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

  /** What a feed sees of it. */
  get socket(): Socket {
    return this as unknown as Socket
  }
}
