import type { Histogram } from 'prom-client'

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
