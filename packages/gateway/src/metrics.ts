import type { Host, Store } from '@askback/core'
import { isCopy, type EventOf } from '@askback/protocol'
import { Counter, Gauge, Histogram, Registry, type GaugeConfiguration } from 'prom-client'

const SECOND = 1000

/** What an operator watches. One registry for each gateway, so that several can live in a process. */
export class Metrics {
  readonly registry = new Registry()
  readonly #settlements: Counter<'kind' | 'settlement'>
  readonly #timeToAnswer: Histogram<'kind'>
  readonly #appendSeconds = new Durations({
    name: 'askback_append_seconds',
    help: 'Until an append to the log is durable.',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2],
  })
  /** When those were asked that this process has seen asked, for the time that their answer takes. */
  readonly #requestedAt = new Map<string, number>()

  constructor() {
    const registers = [this.registry]
    this.#settlements = new Counter({
      name: 'askback_settlements_total',
      help: 'Interactions settled, by kind and outcome.',
      labelNames: ['kind', 'settlement'],
      registers,
    })
    this.#timeToAnswer = new Histogram({
      name: 'askback_time_to_answer_seconds',
      help: 'From the request to a person’s answer.',
      labelNames: ['kind'],
      buckets: [1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400],
      registers,
    })
    this.registry.registerMetric(this.#appendSeconds.asMetric())
  }

  /** The same store, with its appends timed. */
  timed(store: Store): Store {
    const append: Store['append'] = (input) => {
      const started = performance.now()
      const appended = store.append(input)
      // Beside whoever waits for it: one that failed is not counted here.
      appended.then(
        () => this.#appendSeconds.observe((performance.now() - started) / SECOND),
        () => undefined,
      )
      return appended
    }
    return { ...store, append }
  }

  countStreams(open: () => { sse: number; ws: number }): void {
    this.#gauge({
      name: 'askback_streams_open',
      help: 'Event streams and sockets that are open.',
      labelNames: ['transport'],
      collect() {
        for (const [transport, count] of Object.entries(open())) this.set({ transport }, count)
      },
    })
  }

  /** Counts what happens at this host from now on. */
  watch(host: Host, store: Store, now: () => number): () => void {
    this.#gauge({
      name: 'askback_pending',
      help: 'Interactions that wait for a person.',
      async collect() {
        this.set(await store.countPending())
      },
    })
    this.#gauge({
      name: 'askback_oldest_pending_seconds',
      help: 'How long the oldest of them has waited.',
      async collect() {
        const { items } = await store.pending({ limit: 1 })
        const [oldest] = items
        this.set(oldest ? Math.max(0, now() - oldest.requestedAt) / SECOND : 0)
      },
    })
    const { clock } = store
    if (clock) {
      this.#gauge({
        name: 'askback_clock_offset_seconds',
        help: 'By how much the clock of this machine is ahead of the database’s. Deadlines go by the database’s.',
        collect() {
          this.set(clock.skewMs / SECOND)
        },
      })
    }
    return host.desk.on(({ events }) => {
      for (const event of events) {
        if (isCopy(event)) continue
        if (event.type === 'interaction_request')
          this.#requestedAt.set(event.interactionId, event.requestedAt)
        else if (event.type === 'interaction_response') this.#settled(host, event)
      }
    })
  }

  /** Asked for its value when somebody reads it. */
  #gauge<Label extends string>(configuration: GaugeConfiguration<Label>): void {
    this.registry.registerMetric(new Gauge({ ...configuration, registers: [] }))
  }

  #settled(host: Host, event: EventOf<'interaction_response'>): void {
    const { sessionId, interactionId, kind, settlement, by, at } = event
    const requestedAt = this.#requestedAt.get(interactionId)
    this.#requestedAt.delete(interactionId)
    this.#settlements.inc({ kind, settlement })
    if (!by || settlement === 'cancelled') return
    const answered = (asked: number) => this.#timeToAnswer.observe({ kind }, (at - asked) / SECOND)
    if (requestedAt !== undefined) return answered(requestedAt)
    host.desk.interaction(sessionId, interactionId).then(
      (item) => answered(item.requestedAt),
      // Deleted in between: one answer less in a statistic.
      () => undefined,
    )
  }
}

interface Value {
  metricName: string
  labels: { le?: number | string }
  value: number
}

/**
 * A histogram without labels that costs next to nothing to count with: the library's own makes a text of a bound for
 * every value, which is a good part of what a request costs.
 */
export class Durations {
  readonly name: string
  readonly #help: string
  readonly #bounds: number[]
  /** How many lie within each bound and above the one before it; the last are beyond them all. */
  readonly #counts: number[]
  #sum = 0

  constructor({ name, help, buckets }: { name: string; help: string; buckets: number[] }) {
    this.name = name
    this.#help = help
    this.#bounds = buckets
    this.#counts = Array.from({ length: buckets.length + 1 }, () => 0)
  }

  observe(seconds: number): void {
    let place = 0
    while (place < this.#bounds.length && seconds > this.#bounds[place]!) place++
    this.#counts[place]!++
    this.#sum += seconds
  }

  /** What a registry asks for when it is read. */
  async get(): Promise<{
    name: string
    help: string
    type: 'histogram'
    aggregator: 'sum'
    values: Value[]
  }> {
    const { name } = this
    let count = 0
    const values: Value[] = this.#counts.map((within, place) => {
      count += within
      return { metricName: `${name}_bucket`, labels: { le: this.#bounds[place] ?? '+Inf' }, value: count }
    })
    values.push({ metricName: `${name}_sum`, labels: {}, value: this.#sum })
    values.push({ metricName: `${name}_count`, labels: {}, value: count })
    return { name, help: this.#help, type: 'histogram', aggregator: 'sum', values }
  }

  /** For a registry, which is typed for the library's own classes and asks for no more than the above. */
  asMetric(): Histogram {
    return this as unknown as Histogram
  }
}
