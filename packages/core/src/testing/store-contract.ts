import { describe } from 'vitest'
import type { Store } from '../store/store.js'
import { appendContract } from './append-contract.js'
import { eraseContract } from './erase-contract.js'
import { interactionContract } from './interaction-contract.js'
import { kvContract } from './kv-contract.js'
import { lifecycleContract } from './lifecycle-contract.js'
import { locksContract } from './locks-contract.js'
import { modelContract } from './model-contract.js'
import { readContract } from './read-contract.js'

/**
 * What every store promises. `createStore` makes an empty one; the suite closes it. A store that several processes may write
 * to `hasLocks`.
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
