import { describe } from 'vitest'
import type { Store } from '../store/store.js'
import { appendContract, locksContract } from './append-contract.js'
import { eraseContract } from './erase-contract.js'
import { interactionContract } from './interaction-contract.js'
import { kvContract } from './kv-contract.js'
import { lifecycleContract } from './lifecycle-contract.js'
import { readContract } from './read-contract.js'
import { modelContract } from './store-model.js'

/**
 * Tests what every store must do.
 *
 * @param createStore opens an empty store; the suite closes it
 * @param options `hasLocks` for a store to which several processes append
 *
 * @example
 * storeContract('my store', () => myStore({ path: newFolder() }))
 */
export function storeContract(
  name: string,
  createStore: () => Store | Promise<Store>,
  { hasLocks = false }: { hasLocks?: boolean } = {},
): void {
  describe(name, () => {
    appendContract(createStore)
    readContract(createStore)
    interactionContract(createStore)
    kvContract(createStore)
    eraseContract(createStore)
    lifecycleContract(createStore)
    modelContract(createStore)
    if (hasLocks) locksContract(createStore)
  })
}
