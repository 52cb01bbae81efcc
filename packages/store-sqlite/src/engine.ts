import { AskbackError } from '@askback/protocol'
import type Database from 'libsql'
import type AsyncDatabase from 'libsql/promise'
import { createRequire } from 'node:module'

interface SqliteEngine {
  Database: typeof Database
  AsyncDatabase: typeof AsyncDatabase
}

let loaded: SqliteEngine | undefined

/**
 * The database engine. It is loaded when the first database is opened, and not with this module: its binary is an optional
 * dependency for each system, and a program without it must get a sentence that says what to do.
 */
export function engine(): SqliteEngine {
  return (loaded ??= loadEngine(createRequire(import.meta.url)))
}

export function loadEngine(require: (name: string) => unknown): SqliteEngine {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the types of what is required
    return { Database: require('libsql'), AsyncDatabase: require('libsql/promise') } as SqliteEngine
  } catch (error) {
    throw new AskbackError(
      'unavailable',
      `The binary of SQLite for this system (${process.platform}-${process.arch}) is not installed: install again without --omit=optional, or use PostgreSQL.`,
      { cause: error },
    )
  }
}
