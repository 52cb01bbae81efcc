import * as library from 'prom-client'
import { describe, expect, it } from 'vitest'
import { MetricsRegistry, PROMETHEUS_TYPE } from './prometheus.js'

const help = 'A line with a \\ and\na break.'

/** What both registries say after the same steps. */
async function texts(
  ours: (registry: MetricsRegistry) => void,
  theirs: (registry: library.Registry) => void,
) {
  const registry = new MetricsRegistry()
  const expected = new library.Registry()
  ours(registry)
  theirs(expected)
  return { text: await registry.text(), expected: await expected.metrics() }
}

describe('the text is that of prom-client', () => {
  it('for counters, also with labels that need escapes', async () => {
    const labels = [
      { kind: 'a "b"', how: 'c\\d\ne' },
      { kind: 'f', how: 'g' },
      { kind: 'f', how: 'g' },
    ]
    const { text, expected } = await texts(
      (registry) => {
        const counter = registry.counter({ name: 'all', help })
        for (const each of labels) counter.increment(each)
      },
      (registry) => {
        const counter = new library.Counter({
          name: 'all',
          help,
          labelNames: ['kind', 'how'],
          registers: [registry],
        })
        for (const each of labels) counter.inc(each)
      },
    )
    expect(text).toBe(expected)
  })

  it('for gauges that are read late, with and without labels', async () => {
    const { text, expected } = await texts(
      (registry) => {
        registry.gauge({ name: 'pending', help }, () => Promise.resolve([{ value: 2.5 }]))
        registry.gauge({ name: 'open', help }, () => [
          { labels: { transport: 'sse' }, value: 1 },
          { labels: { transport: 'ws' }, value: 0 },
        ])
      },
      (registry) => {
        const registers = [registry]
        new library.Gauge({ name: 'pending', help, registers }).set(2.5)
        const open = new library.Gauge({ name: 'open', help, labelNames: ['transport'], registers })
        open.set({ transport: 'sse' }, 1)
        open.set({ transport: 'ws' }, 0)
      },
    )
    expect(text).toBe(expected)
  })

  it('for histograms', async () => {
    const values = [0, 0.0005, 0.001, 0.002, 0.5, 0.75, 3]
    const buckets = [0.001, 0.01, 0.5]
    const { text, expected } = await texts(
      (registry) => {
        const plain = registry.histogram({ name: 'seconds', help, buckets })
        const labelled = registry.histogram({ name: 'by_kind', help, buckets, hasLabels: true })
        registry.histogram({ name: 'unused', help, buckets })
        for (const value of values) {
          plain.observe(value)
          labelled.observe(value, { kind: value < 0.5 ? 'short' : 'long' })
        }
      },
      (registry) => {
        const registers = [registry]
        const plain = new library.Histogram({ name: 'seconds', help, buckets, registers })
        const labelled = new library.Histogram({
          name: 'by_kind',
          help,
          buckets,
          labelNames: ['kind'],
          registers,
        })
        registry.registerMetric(new library.Histogram({ name: 'unused', help, buckets, registers: [] }))
        for (const value of values) {
          plain.observe(value)
          labelled.observe({ kind: value < 0.5 ? 'short' : 'long' }, value)
        }
      },
    )
    expect(text).toBe(expected)
  })

  it('and its type, too', () => {
    expect(PROMETHEUS_TYPE).toBe(new library.Registry().contentType)
  })
})
