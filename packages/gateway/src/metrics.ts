import type { Host, Store } from '@askback/core'
import { isCopy, type EventOf } from '@askback/protocol'
import { MetricsRegistry, type Counter, type Histogram } from './prometheus.js'

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
  readonly #registry = new MetricsRegistry()
  readonly #settlements: Counter
  readonly #timeToAnswer: Histogram
  readonly #appendSeconds: Histogram
  /** By interaction, for those that were opened while this process ran. */
  readonly #requestedAt = new Map<string, number>()

  constructor() {
    this.#settlements = this.#registry.counter({
      name: 'askback_settlements_total',
      help: 'Interactions settled, by kind and outcome.',
    })
    this.#timeToAnswer = this.#registry.histogram({
      name: 'askback_time_to_answer_seconds',
      help: 'From the request to a person’s answer.',
      hasLabels: true,
      buckets: [1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400],
    })
    this.#appendSeconds = this.#registry.histogram({
      name: 'askback_append_seconds',
      help: 'Until an append to the log is durable.',
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2],
    })
  }

  /** All metrics, in the text format of Prometheus. */
  text(): Promise<string> {
    return this.#registry.text()
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
    this.#registry.gauge(
      { name: 'askback_streams_open', help: 'Event streams and sockets that are open.' },
      () => Object.entries(open()).map(([transport, value]) => ({ labels: { transport }, value })),
    )
  }

  /**
   * Counts what happens at this host from now on, until the returned function is called.
   *
   * @internal
   */
  watch(host: Host, store: Store, now: () => number): () => void {
    const registry = this.#registry
    registry.gauge({ name: 'askback_pending', help: 'Interactions that wait for a person.' }, async () => [
      { value: await store.countPending() },
    ])
    registry.gauge(
      { name: 'askback_oldest_pending_seconds', help: 'How long the oldest of them has waited.' },
      async () => {
        const { items } = await store.pending({ limit: 1 })
        const [oldest] = items
        return [{ value: oldest ? Math.max(0, now() - oldest.requestedAt) / SECOND : 0 }]
      },
    )
    const { clock } = store
    if (clock) {
      registry.gauge(
        {
          name: 'askback_clock_offset_seconds',
          help: 'By how much the clock of this machine is ahead of the database’s. Deadlines go by the database’s.',
        },
        () => [{ value: clock.skewMs / SECOND }],
      )
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

  #settled(host: Host, event: EventOf<'interaction_response'>): void {
    const { sessionId, interactionId, kind, settlement, by, at } = event
    const requestedAt = this.#requestedAt.get(interactionId)
    this.#requestedAt.delete(interactionId)
    this.#settlements.increment({ kind, settlement })
    if (!by || settlement === 'cancelled') return
    const observe = (requested: number) => this.#timeToAnswer.observe((at - requested) / SECOND, { kind })
    if (requestedAt !== undefined) return observe(requestedAt)
    host.desk.interaction(sessionId, interactionId).then(
      (item) => observe(item.requestedAt),
      // The session was deleted meanwhile: one value less in a statistic.
      () => undefined,
    )
  }
}
