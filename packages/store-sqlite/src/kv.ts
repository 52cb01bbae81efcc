import type { Fence, KvEntry, KvWrite } from '@askback/core'
import { endOfPrefix } from '@askback/core/store'
import type { Json } from '@askback/protocol'
import { parseStored, type Connection } from './connection.js'
import type { Sequence } from './sequence.js'

/** The key-value table. Changes must be made inside a transaction. */
export interface KvTable {
  /** Whether no write of an append has `ifAbsent` for a key that exists. */
  allows(writes: KvWrite[]): boolean
  isCurrent(fence: Fence): boolean
  write(key: string, value: Json | null): void
  put(key: string, value: Json | null, expected: number | null): boolean
  erase(prefix: string): void
  get(key: string): KvEntry | null
  list(prefix: string): KvEntry[]
}

/** Versions are positions, which never repeat, so that a key that was deleted and written again does not look unchanged. */
export function kvTable(db: Connection, sequence: Sequence): KvTable {
  const find = db.get<[Buffer, number]>('SELECT CAST(value AS BLOB), version FROM kv WHERE key = ?')
  const findVersion = db.get<[number]>('SELECT version FROM kv WHERE key = ?')
  const findAll = db.all<[Buffer, Buffer, number]>(
    'SELECT CAST(key AS BLOB), CAST(value AS BLOB), version FROM kv WHERE key >= ? AND key < ? ORDER BY key',
  )
  const upsert = db.run(
    `INSERT INTO kv (key, value, version) VALUES (?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = excluded.version`,
  )
  const remove = db.run('DELETE FROM kv WHERE key = ?')
  const removeAll = db.run('DELETE FROM kv WHERE key >= ? AND key < ?')

  function write(key: string, value: Json | null): void {
    if (value === null) remove(key)
    else upsert(key, JSON.stringify(value), sequence.take(1))
  }

  return {
    allows: (writes) => !writes.some((write) => write.ifAbsent && findVersion(write.key)),
    isCurrent: ({ key, version }) => findVersion(key)?.[0] === version,
    write,
    put(key, value, expected) {
      if ((findVersion(key)?.[0] ?? null) !== expected) return false
      write(key, value)
      return true
    },
    erase: (prefix) => void removeAll(prefix, endOfPrefix(prefix)),
    get(key) {
      const row = find(key)
      return row ? { key, value: parseStored<Json>(row[0]), version: row[1] } : null
    },
    list: (prefix) =>
      findAll(prefix, endOfPrefix(prefix)).map(([key, value, version]) => ({
        key: key.toString(),
        value: parseStored<Json>(value),
        version,
      })),
  }
}
