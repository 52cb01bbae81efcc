import { memoryStore, type Store } from '../index.js'
import { leasesContract } from '../testing/index.js'

leasesContract('a store in memory', () => {
  const store: Store = { ...memoryStore(), shared: true }
  return Promise.resolve([store, store])
})
