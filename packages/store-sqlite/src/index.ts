export { finishBackup, restoreDatabase, finishCopy } from './backup.js'
export { checkDatabase, type DatabaseCounts } from './deep-check.js'
export { checkCanStart } from './open.js'
export { acceptLoss, sqlite, sqliteStore, type SqliteStoreOptions } from './sqlite-store.js'
