export { postgresBus, type PostgresBusOptions } from './postgres-bus.js'
export { postgresStore, type PostgresStoreOptions } from './postgres-store.js'
