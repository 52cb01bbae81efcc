import { setTimeout as delay } from 'node:timers/promises'
import type { RunningGateway } from '../e2e/http/gateways.js'

/** Somebody who looks at one session over SSE, at one gateway after the other, and goes on where the last stream ended. */
class Watcher {
  readonly sessionId: string
  cursor = 0
  readonly #gateways: () => RunningGateway[]
  readonly #problems: string[]
  readonly #random: () => number
  readonly #stop: AbortSignal

  constructor(
    sessionId: string,
    options: {
      gateways: () => RunningGateway[]
      problems: string[]
      random: () => number
      stop: AbortSignal
    },
  ) {
    this.sessionId = sessionId
    this.#gateways = options.gateways
    this.#problems = options.problems
    this.#random = options.random
    this.#stop = options.stop
  }

  async run(): Promise<void> {
    while (!this.#stop.aborted) {
      const gateways = this.#gateways()
      const gateway = gateways[Math.floor(this.#random() * gateways.length)]
      if (gateway) await this.#watch(gateway)
      await delay(50)
    }
  }

  async #watch(gateway: RunningGateway): Promise<void> {
    const { url, token } = gateway.ready
    let body: ReadableStream<Uint8Array> | null = null
    try {
      const response = await fetch(`${url}/api/sessions/${this.sessionId}/events?after=${this.cursor}`, {
        headers: { authorization: `Bearer ${token}` },
        signal: this.#stop,
      })
      if (response.status === 200) body = response.body
      else await response.text()
    } catch {
      // It is gone, or about to be.
    }
    if (!body) return
    try {
      let text = ''
      for await (const part of body) {
        text += Buffer.from(part).toString()
        const frames = text.split('\n\n')
        text = frames.pop()!
        for (const frame of frames) this.#take(frame)
      }
    } catch {
      // As above.
    }
    // One that was killed has said nothing; from all others a stream ends only for a reason, and there is none here.
    await delay(500)
    if (!this.#stop.aborted && this.#gateways().includes(gateway))
      this.#problems.push(`a stream of ${this.sessionId} at ${url} ended at ${this.cursor}`)
  }

  #take(frame: string): void {
    if (/^event: resync$/m.test(frame))
      this.#problems.push(`${this.sessionId} was told to take a new snapshot`)
    const id = /^id: (\d+)$/m.exec(frame)?.[1]
    if (id === undefined) return
    if (Number(id) !== this.cursor + 1)
      this.#problems.push(`${this.sessionId} was told event ${id} after ${this.cursor}`)
    this.cursor = Number(id)
  }
}

/** Watches sessions, several eyes on each, and notes what streams must never do. */
export class Watchers {
  readonly problems: string[] = []
  readonly #gateways: () => RunningGateway[]
  readonly #random: () => number
  readonly #stop = new AbortController()
  readonly #watchers: Watcher[] = []
  readonly #running: Promise<void>[] = []

  constructor(gateways: () => RunningGateway[], random: () => number) {
    this.#gateways = gateways
    this.#random = random
  }

  add(sessionId: string, eyes = 2): void {
    for (let count = 0; count < eyes; count++) {
      const watcher = new Watcher(sessionId, {
        gateways: this.#gateways,
        problems: this.problems,
        random: this.#random,
        stop: this.#stop.signal,
      })
      this.#watchers.push(watcher)
      this.#running.push(watcher.run())
    }
  }

  /** How far each session was seen by the one who has seen least of it. */
  get seen(): ReadonlyMap<string, number> {
    const seen = new Map<string, number>()
    for (const { sessionId, cursor } of this.#watchers)
      seen.set(sessionId, Math.min(seen.get(sessionId) ?? Infinity, cursor))
    return seen
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#running)
  }
}
