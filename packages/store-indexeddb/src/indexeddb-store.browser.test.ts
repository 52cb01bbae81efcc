import { busContract, leasesContract, sharedDeskContract, storeContract } from '@askback/core/testing'
import { indexedDbStore, tabBus } from './index.js'

/** Each test has a database of its own. */
const newName = () => `test ${crypto.randomUUID()}`

storeContract('the IndexedDB store', () => indexedDbStore({ name: newName() }), { hasLocks: true })

/** Two connections, as two tabs have. */
const openShared = () => {
  const name = newName()
  return Promise.all([indexedDbStore({ name }), indexedDbStore({ name })])
}
leasesContract('IndexedDB', openShared)
sharedDeskContract('IndexedDB', openShared)

busContract('a channel between tabs', () => {
  const name = newName()
  return Promise.resolve({ join: () => Promise.resolve(tabBus({ name })), end: () => Promise.resolve() })
})
