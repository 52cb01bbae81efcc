import { storeContract } from '@askback/core/testing'
import { sqliteStore } from './index.js'
import { freshFile } from './testing/fresh-file.js'

storeContract('the SQLite store', () => sqliteStore({ path: freshFile() }))
