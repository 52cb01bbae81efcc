export { finishBackup, restoreDatabase, sealCopy } from './backup.js'
export { checkDatabase, type DatabaseCounts } from './deep-check.js'
export { checkStart } from './open.js'
export { acceptLoss, sqliteStore, type SqliteStoreOptions } from './sqlite-store.js'
