import { setTimeout as delay } from 'node:timers/promises'
import type { RunningGateway } from '../e2e/http/gateways.js'

/** Follows one session over SSE, at random gateways, and continues where the last stream ended. */
class StreamFollower {
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
      if (gateway) await this.#follow(gateway)
      await delay(50)
    }
  }

  async #follow(gateway: RunningGateway): Promise<void> {
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
      // The gateway has ended or is about to.
    }
    if (!body) return
    try {
      let text = ''
      for await (const part of body) {
        text += Buffer.from(part).toString()
        const frames = text.split('\n\n')
        text = frames.pop()!
        for (const frame of frames) this.#read(frame)
      }
    } catch {
      // The gateway has ended.
    }
    // Only a gateway that was killed may end a stream: no session is deleted here, and no client is too slow.
    await delay(500)
    if (!this.#stop.aborted && this.#gateways().includes(gateway))
      this.#problems.push(`a stream of ${this.sessionId} at ${url} ended at ${this.cursor}`)
  }

  #read(frame: string): void {
    if (/^event: resync$/m.test(frame))
      this.#problems.push(`${this.sessionId} was asked to load a new snapshot`)
    const id = /^id: (\d+)$/m.exec(frame)?.[1]
    if (id === undefined) return
    if (Number(id) !== this.cursor + 1)
      this.#problems.push(`${this.sessionId} got event ${id} after ${this.cursor}`)
    this.cursor = Number(id)
  }
}

/** Follows sessions, each with several streams, and records what streams must never do. */
export class StreamFollowers {
  readonly problems: string[] = []
  readonly #gateways: () => RunningGateway[]
  readonly #random: () => number
  readonly #stop = new AbortController()
  readonly #followers: StreamFollower[] = []
  readonly #running: Promise<void>[] = []

  constructor(gateways: () => RunningGateway[], random: () => number) {
    this.#gateways = gateways
    this.#random = random
  }

  add(sessionId: string, streams = 2): void {
    for (let count = 0; count < streams; count++) {
      const follower = new StreamFollower(sessionId, {
        gateways: this.#gateways,
        problems: this.problems,
        random: this.#random,
        stop: this.#stop.signal,
      })
      this.#followers.push(follower)
      this.#running.push(follower.run())
    }
  }

  /** The last `seq` of each session that all of its streams have delivered. */
  get seen(): ReadonlyMap<string, number> {
    const seen = new Map<string, number>()
    for (const { sessionId, cursor } of this.#followers)
      seen.set(sessionId, Math.min(seen.get(sessionId) ?? Infinity, cursor))
    return seen
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#running)
  }
}
