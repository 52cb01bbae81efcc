export { indexedDbStore, type IndexedDbStoreOptions } from './indexeddb-store.js'
export { tabBus, type TabBusOptions } from './tab-bus.js'
