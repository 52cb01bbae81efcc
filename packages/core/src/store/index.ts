// For authors of stores: the port, and the helpers that the stores of this repository share.
export * from './records.js'
export type * from './store.js'
export { auditRows, joinMessage, splitMessage } from './audit.js'
export { createDoorbell, type Doorbell } from './doorbell.js'
export { storeFailure, type WriteOutcome } from './store-failure.js'
export { StoreClock, type SharedClock, type StoreClockOptions } from './store-clock.js'
