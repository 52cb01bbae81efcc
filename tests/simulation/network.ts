import type { SessionEvent } from '@askback/protocol'
import { FakeSocket } from '../../packages/gateway/src/streams/fake-socket.test.helper.js'
import type { EventReader } from '../../packages/gateway/src/streams/open-streams.js'
import type { DeliveryCursor } from './delivery-rules.js'
import type { Process } from './process.js'
import { holds } from './violation.js'
import type { World } from './world.js'

interface StreamOptions {
  process: Process
  sessionId: string
  cursor: number
  signal: AbortSignal | undefined
  /** Called at the gateway's end when the connection is lost. */
  closed: () => void
  /** Called with the frames just before they are delivered to the client. */
  delivering: (frames: Frame[]) => void
  finished: () => void
}

export interface Frame {
  type: string
  data: unknown
}

/** One streaming response: what the gateway writes reaches the client only when the run calls `deliver`. */
export class Stream implements EventReader {
  readonly fake: FakeSocket
  readonly process: Process
  readonly sessionId: string
  readonly body: ReadableStream<Uint8Array>
  cursor: number
  /** Its reader is slow: the socket accepts a limited number of bytes. */
  readonly isSlow: boolean
  readonly #options: StreamOptions
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null
  #delivered = 0
  #state: 'open' | 'finished' | 'closed' = 'open'

  constructor(options: StreamOptions, takes: number) {
    this.#options = options
    this.fake = new FakeSocket(takes)
    this.isSlow = Number.isFinite(takes)
    this.process = options.process
    this.sessionId = options.sessionId
    this.cursor = options.cursor
    this.body = new ReadableStream({
      start: (controller) => void (this.#controller = controller),
      cancel: () => this.#close(),
    })
    options.signal?.addEventListener('abort', () => this.cut())
  }

  get socket() {
    return this.fake.socket
  }

  get isOpen(): boolean {
    return this.#state === 'open' && !this.fake.destroyed
  }

  get isClosed(): boolean {
    return this.#state === 'closed'
  }

  /** Whether bytes or the end of the stream wait for delivery. */
  get isBusy(): boolean {
    if (this.#state === 'closed') return false
    return this.#state === 'finished' || this.fake.destroyed || this.fake.written.length > this.#delivered
  }

  finish(): void {
    if (this.#state !== 'open') return
    this.#options.finished()
    this.#state = 'finished'
  }

  /** The client receives everything that was written so far. */
  deliver(): void {
    const text = this.fake.written.slice(this.#delivered)
    this.#delivered = this.fake.written.length
    this.#options.delivering(framesIn(text))
    if (text !== '') this.#controller?.enqueue(new TextEncoder().encode(text))
    if (this.fake.destroyed) return this.cut()
    this.fake.drain()
    if (this.#state !== 'finished') return
    this.#controller?.close()
    this.#close()
  }

  /** The connection breaks: bytes that were not delivered are lost. */
  cut(): void {
    if (this.#state === 'closed') return
    this.#controller?.error(new TypeError('terminated'))
    this.#close()
  }

  #close(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.fake.destroy()
    if (this.process.alive) this.#options.closed()
  }
}

function framesIn(text: string): Frame[] {
  return text
    .split('\n\n')
    .filter(Boolean)
    .map((frame) => {
      const fields = new Map(frame.split('\n').map((line) => line.split(': ', 2) as [string, string]))
      const data = frame.slice(frame.indexOf('data: ') + 6)
      return { type: fields.get('event') ?? '', data: JSON.parse(data) as unknown }
    })
}

/** All connections between clients and gateways. */
export class Network {
  readonly #world: World
  #streams: Stream[] = []
  /** How far each reader of one session has received its log. */
  readonly #cursors = new Map<Stream, DeliveryCursor>()

  constructor(world: World) {
    this.#world = world
  }

  get isBusy(): boolean {
    return this.#streams.some((stream) => stream.isBusy)
  }

  get size(): number {
    return this.#streams.length
  }

  add(stream: Stream, cursor?: DeliveryCursor): void {
    // Its process crashed while the stream was opened.
    if (!stream.process.alive) return stream.cut()
    this.#streams.push(stream)
    if (cursor) this.#cursors.set(stream, cursor)
  }

  /** Delivers the bytes of one random connection. */
  step(): void {
    const { random } = this.#world
    const busy = this.#streams.filter((stream) => stream.isBusy)
    const stream = random.pick(busy)
    if (stream.isSlow && random.chance(0.8)) return
    this.#world.note(`${stream.process.name} reaches a reader of ${stream.sessionId}`)
    this.#world.guard(() => stream.deliver())
    this.#forget()
  }

  breakOne(): void {
    const stream = this.#world.random.pick(this.#streams)
    this.#world.note(`${stream.process.name} loses a reader of ${stream.sessionId}`)
    stream.cut()
    this.#forget()
  }

  crashed(process: Process): void {
    for (const stream of this.#streams) if (stream.process === process) stream.cut()
    this.#forget()
  }

  /** Each connected reader has received the whole log after its cursor. */
  checkAtRest(): void {
    const { model } = this.#world
    for (const stream of this.#streams) {
      const cursor = this.#cursors.get(stream)
      if (!cursor || !stream.isOpen || stream.process.missedDoorbells.has(stream.sessionId)) continue
      const log = cursor.position && model.logs.get(cursor.position.logId)
      holds(
        log?.ended !== true,
        'at rest',
        () => `${cursor.name} stays open after ${stream.sessionId} has ended`,
      )
      cursor.checkAtRest(stream.sessionId, false)
    }
  }

  #forget(): void {
    for (const stream of this.#streams) if (stream.isClosed) this.#cursors.delete(stream)
    this.#streams = this.#streams.filter(({ isClosed }) => !isClosed)
  }
}

export function eventsIn(frames: Frame[]): SessionEvent[] {
  return frames.flatMap(({ data }) =>
    typeof data === 'object' && data !== null && 'seq' in data ? [data as SessionEvent] : [],
  )
}
