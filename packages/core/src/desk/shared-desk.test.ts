import { memoryStore, type Store } from '../index.js'
import { sharedDeskContract } from '../testing/index.js'

sharedDeskContract('a store in memory', () => {
  const store: Store = { ...memoryStore(), shared: true }
  return Promise.resolve([store, store])
})
