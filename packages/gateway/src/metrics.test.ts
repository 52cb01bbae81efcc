import { Histogram, Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { Durations } from './metrics.js'

it('durations are formatted like the library’s histograms', async () => {
  const options = { name: 'seconds', help: 'How long it took.', buckets: [0.001, 0.01, 0.5] }
  const [ours, theirs] = [new Registry(), new Registry()]
  const durations = new Durations(options)
  ours.registerMetric(durations.asMetric())
  const histogram = new Histogram({ ...options, registers: [theirs] })
  for (const seconds of [0, 0.0005, 0.001, 0.002, 0.5, 0.75, 3]) {
    durations.observe(seconds)
    histogram.observe(seconds)
  }
  expect(await ours.metrics()).toBe(await theirs.metrics())
})
