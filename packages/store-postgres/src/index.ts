export { postgresStore, type PostgresStoreOptions } from './postgres-store.js'
