import type { Fence, KvEntry, KvWrite } from '@askback/core'
import type { Json } from '@askback/protocol'
import type { Connection } from './connection.js'
import type { Places } from './places.js'
import { stored } from './stored.js'

export interface Kv {
  /** Whether the writes of an append may happen. */
  allows(writes: KvWrite[]): boolean
  isOf(fence: Fence): boolean
  /** Inside a transaction, like every change here. */
  write(key: string, value: Json | null): void
  put(key: string, value: Json | null, expected: number | null): boolean
  erase(prefix: string): void
  get(key: string): KvEntry | null
  list(prefix: string): KvEntry[]
}

/** Versions are places, which never repeat: a key that was deleted and made anew is not mistaken for the old one. */
export function kvTable(db: Connection, places: Places): Kv {
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
    else upsert(key, JSON.stringify(value), places.take(1))
  }

  return {
    allows: (writes) => !writes.some((write) => write.ifAbsent && findVersion(write.key)),
    isOf: ({ key, version }) => findVersion(key)?.[0] === version,
    write,
    put(key, value, expected) {
      if ((findVersion(key)?.[0] ?? null) !== expected) return false
      write(key, value)
      return true
    },
    erase: (prefix) => void removeAll(prefix, endOf(prefix)),
    get(key) {
      const row = find(key)
      return row ? { key, value: stored<Json>(row[0]), version: row[1] } : null
    },
    list: (prefix) =>
      findAll(prefix, endOf(prefix)).map(([key, value, version]) => ({
        key: key.toString(),
        value: stored<Json>(value),
        version,
      })),
  }
}

/** Sorts after every key that begins with the prefix. */
function endOf(prefix: string): string {
  return `${prefix}\u{10ffff}`
}
