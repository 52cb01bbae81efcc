import { storeContract } from '../testing/index.js'
import { memoryStore } from './memory-store.js'

storeContract('the memory store', memoryStore, { hasLocks: true })
