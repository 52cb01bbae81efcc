import { fakeClock } from '@askback/core/testing'
import { expect, it } from 'vitest'
import { AgentRate } from './rate-limits.js'

it('still limits a credential that has used its burst after many others came', () => {
  const clock = fakeClock()
  const rate = new AgentRate(clock, { perSecond: 1, burst: 2 })
  const refused = () => expect(() => rate.count('loop')).toThrow(/Try again in 1 s/)
  rate.count('loop')
  rate.count('loop')
  refused()
  for (let other = 0; other < 10_001; other++) rate.count(`other ${other}`)
  refused()
  clock.jump(1000)
  rate.count('loop')
  refused()
})
