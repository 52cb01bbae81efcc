import type { Host, Store } from '@askback/core'
import { isCopy, type EventOf } from '@askback/protocol'
import { Counter, Gauge, Histogram, Registry, type GaugeConfiguration } from 'prom-client'

const SECOND = 1000

/**
 * Metrics for Prometheus. Each gateway has its own registry, so that several can run in one process.
 *
 * @example
 * const metrics = new Metrics()
 * const store = metrics.timed(sqliteStore({ path }))
 * createGateway({ host, store, credentials, metrics })
 */
export class Metrics {
  readonly registry = new Registry()
  readonly #settlements: Counter<'kind' | 'settlement'>
  readonly #timeToAnswer: Histogram<'kind'>
  readonly #appendSeconds = new Durations({
    name: 'askback_append_seconds',
    help: 'Until an append to the log is durable.',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2],
  })
  /** By interaction, for those that were opened while this process ran. */
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

  /** The same store, which measures how long its appends take. */
  measureAppends(store: Store): Store {
    const append: Store['append'] = (input) => {
      const started = performance.now()
      const appended = store.append(input)
      // A failed append is not measured; its caller handles the error.
      appended.then(
        () => this.#appendSeconds.observe((performance.now() - started) / SECOND),
        () => undefined,
      )
      return appended
    }
    return { ...store, append }
  }

  /** @internal */
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

  /**
   * Counts what happens at this host from now on, until the returned function is called.
   *
   * @internal
   */
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

  /** A gauge whose value is read when the metrics are. */
  #gauge<Label extends string>(configuration: GaugeConfiguration<Label>): void {
    this.registry.registerMetric(new Gauge({ ...configuration, registers: [] }))
  }

  #settled(host: Host, event: EventOf<'interaction_response'>): void {
    const { sessionId, interactionId, kind, settlement, by, at } = event
    const requestedAt = this.#requestedAt.get(interactionId)
    this.#requestedAt.delete(interactionId)
    this.#settlements.inc({ kind, settlement })
    if (!by || settlement === 'cancelled') return
    const observe = (requested: number) => this.#timeToAnswer.observe({ kind }, (at - requested) / SECOND)
    if (requestedAt !== undefined) return observe(requestedAt)
    host.desk.interaction(sessionId, interactionId).then(
      (item) => observe(item.requestedAt),
      // The session was deleted meanwhile: one value less in a statistic.
      () => undefined,
    )
  }
}

interface MetricValue {
  metricName: string
  labels: { le?: number | string }
  value: number
}

/**
 * A histogram without labels that is cheap to update. The library's own formats a bound for every value, which is a considerable part of
 * the cost of a request.
 */
export class Durations {
  readonly name: string
  readonly #help: string
  readonly #bounds: number[]
  /** How many values are in each bucket; the last bucket has those above all bounds. */
  readonly #counts: number[]
  #sum = 0

  constructor({ name, help, buckets }: { name: string; help: string; buckets: number[] }) {
    this.name = name
    this.#help = help
    this.#bounds = buckets
    this.#counts = Array.from({ length: buckets.length + 1 }, () => 0)
  }

  observe(seconds: number): void {
    let bucket = 0
    while (bucket < this.#bounds.length && seconds > this.#bounds[bucket]!) bucket++
    this.#counts[bucket]!++
    this.#sum += seconds
  }

  /** Called by a registry when the metrics are read. */
  async get(): Promise<{
    name: string
    help: string
    type: 'histogram'
    aggregator: 'sum'
    values: MetricValue[]
  }> {
    const { name } = this
    let count = 0
    const values: MetricValue[] = this.#counts.map((inBucket, bucket) => {
      count += inBucket
      return { metricName: `${name}_bucket`, labels: { le: this.#bounds[bucket] ?? '+Inf' }, value: count }
    })
    values.push({ metricName: `${name}_sum`, labels: {}, value: this.#sum })
    values.push({ metricName: `${name}_count`, labels: {}, value: count })
    return { name, help: this.#help, type: 'histogram', aggregator: 'sum', values }
  }

  /** A registry is typed for the library's own classes, but uses only `name` and `get`. */
  asMetric(): Histogram {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
    return this as unknown as Histogram
  }
}
