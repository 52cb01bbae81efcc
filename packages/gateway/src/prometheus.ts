/**
 * The text format of Prometheus (version 0.0.4): counters, gauges and histograms.
 *
 * Own code instead of `prom-client`: that brings 5 MB (quantiles and exemplars, which nothing here uses), and formats a label for each
 * observed value, which was a considerable part of the cost of a request. A test compares the text with that of `prom-client`.
 */

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

type MetricLabels = Readonly<Record<string, string | number>>

interface Sample {
  /** What follows the name of the metric: nothing, `_bucket`, `_sum` or `_count`. */
  suffix?: '_bucket' | '_sum' | '_count'
  labels?: MetricLabels
  value: number
}

interface MetricOptions {
  name: string
  help: string
}

interface Metric extends MetricOptions {
  readonly type: 'counter' | 'gauge' | 'histogram'
  samples(): Sample[] | Promise<Sample[]>
}

interface HistogramOptions extends MetricOptions {
  buckets: readonly number[]
  /** Whether its values have labels. Without labels it has a count from the start, which is 0. */
  hasLabels?: boolean
}

/** The metrics of one gateway. */
export class MetricsRegistry {
  /** By name; a metric that is registered again replaces the one before. */
  readonly #metrics = new Map<string, Metric>()

  counter(options: MetricOptions): Counter {
    return this.#add(new Counter(options))
  }

  histogram(options: HistogramOptions): Histogram {
    return this.#add(new Histogram(options))
  }

  /** A gauge whose values are read when the metrics are. */
  gauge(options: MetricOptions, read: () => Sample[] | Promise<Sample[]>): void {
    this.#add({ ...options, type: 'gauge', samples: read })
  }

  /** All metrics in the text format. */
  async text(): Promise<string> {
    const blocks = await Promise.all([...this.#metrics.values()].map(formatMetric))
    return `${blocks.join('\n\n')}\n`
  }

  #add<M extends Metric>(metric: M): M {
    this.#metrics.set(metric.name, metric)
    return metric
  }
}

export class Counter implements Metric {
  readonly type = 'counter'
  readonly name: string
  readonly help: string
  readonly #values = new Map<string, { labels: MetricLabels; value: number }>()

  constructor({ name, help }: MetricOptions) {
    this.name = name
    this.help = help
  }

  increment(labels: MetricLabels): void {
    const key = JSON.stringify(labels)
    const counted = this.#values.get(key)
    if (counted) counted.value += 1
    else this.#values.set(key, { labels, value: 1 })
  }

  samples(): Sample[] {
    return [...this.#values.values()]
  }
}

/** Counts values in buckets. Each combination of labels has buckets of its own. */
export class Histogram implements Metric {
  readonly type = 'histogram'
  readonly name: string
  readonly help: string
  readonly #bounds: readonly number[]
  readonly #series = new Map<string, Series>()

  constructor({ name, help, buckets, hasLabels = false }: HistogramOptions) {
    this.name = name
    this.help = help
    this.#bounds = buckets
    if (!hasLabels) this.#seriesOf()
  }

  observe(value: number, labels?: MetricLabels): void {
    const { counts, sum } = this.#seriesOf(labels)
    let bucket = 0
    while (bucket < this.#bounds.length && value > this.#bounds[bucket]!) bucket++
    counts[bucket]!++
    sum.value += value
  }

  samples(): Sample[] {
    return [...this.#series.values()].flatMap(({ labels, counts, sum }) => {
      let count = 0
      const buckets = counts.map((inBucket, bucket): Sample => {
        count += inBucket
        return { suffix: '_bucket', labels: { le: this.#bounds[bucket] ?? '+Inf', ...labels }, value: count }
      })
      return [
        ...buckets,
        { suffix: '_sum' as const, labels, value: sum.value },
        { suffix: '_count' as const, labels, value: count },
      ]
    })
  }

  #seriesOf(labels: MetricLabels = {}): Series {
    const key = Object.values(labels).join('\0')
    const known = this.#series.get(key)
    if (known) return known
    const counts = Array.from({ length: this.#bounds.length + 1 }, () => 0)
    const series = { labels, counts, sum: { value: 0 } }
    this.#series.set(key, series)
    return series
  }
}

interface Series {
  labels: MetricLabels
  /** How many values are in each bucket; the last bucket has those above all bounds. */
  counts: number[]
  sum: { value: number }
}

async function formatMetric(metric: Metric): Promise<string> {
  const { name, help, type } = metric
  const samples = await metric.samples()
  return [
    `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(
      ({ suffix = '', labels = {}, value }) => `${name}${suffix}${formatLabels(labels)} ${value}`,
    ),
  ].join('\n')
}

function formatLabels(labels: MetricLabels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(String(value))}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}
