import { memoryStore } from '@askback/core'
import { fakeClock } from '@askback/core/testing'
import { expect, it } from 'vitest'
import { Metrics } from '../metrics.js'
import { Api, approval, approve, question, startTestGateway } from '../testing/index.js'
import { until } from '../testing/until.test.helper.js'

it('tells what is pending, for how long, what became of the rest, and how long people took', async () => {
  const clock = fakeClock()
  const gateway = await startTestGateway({ listen: false, clock })
  const person = new Api(gateway)
  const id = await person.session()
  const item = await person.open(id, approval)
  await person.open(id, question)
  clock.advance(30_000)
  await person.post(`/api/sessions/${id}/interactions/${item.interactionId}/response`, approve)
  clock.advance(12_000)
  const text = await until(async () => {
    const { body } = await person.get<string>('/api/metrics')
    return body.includes('askback_time_to_answer_seconds_count') ? body : null
  })
  expect(text).toContain('askback_pending 1')
  expect(text).toContain('askback_oldest_pending_seconds 42')
  expect(text).toContain('askback_settlements_total{kind="approval",settlement="approved"} 1')
  expect(text).toContain('askback_time_to_answer_seconds_sum{kind="approval"} 30')
  expect(text).toContain('askback_streams_open{transport="sse"} 0')
  await gateway.close()
})

it('times the appends of a store', async () => {
  const metrics = new Metrics()
  const store = metrics.timed(memoryStore())
  const gateway = await startTestGateway({ listen: false, store })
  await new Api(gateway).session()
  expect(await metrics.registry.metrics()).toContain('askback_append_seconds_count 1')
  await gateway.close()
})
