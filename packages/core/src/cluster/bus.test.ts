import { memoryBus } from '../index.js'
import { busContract } from '../testing/index.js'

busContract('a bus in memory', () => {
  const join = memoryBus()
  return Promise.resolve({ join: () => Promise.resolve(join()), end: () => Promise.resolve() })
})
