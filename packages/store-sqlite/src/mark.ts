import {
  closeSync,
  constants,
  fdatasync,
  fsyncSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'
import type { Connection } from './connection.js'

/** Which database it is, and how many transactions of it were acknowledged. */
export interface Noted {
  id: number
  commits: number
}

/**
 * How many transactions were acknowledged, outside of the database: a small file beside it. Every transaction counts itself
 * in the database, and is noted here after its commit and before it is acknowledged. A database that counts less than
 * its mark has lost what was acknowledged, whatever became of its files.
 *
 * The note costs no sync: if the process dies the system still writes it, if the machine does it may be as old as the last
 * checkpoint, which syncs it. It is never ahead of the disk, so it never claims a loss that there was not.
 */
export interface Mark {
  /** Inside a transaction: the last thing before its commit. */
  count(): void
  /** After the commit of what was counted. */
  note(): void
  sync(): Promise<void>
  /** After a clean stop the database says of itself that it is whole. */
  remove(): void
  close(): void
}

const MAGIC = 'askback1'
const BYTES = 64
/** Written in turn, each in a page of its own: a write that is cut by a power failure spoils one of them. */
const SLOTS = [0, 4096] as const
const syncData = promisify(fdatasync)

export function markFile(path: string): string {
  return `${path}-mark`
}

/** `null` if there is none, `'unreadable'` if none of its two notes is whole. */
export function readMark(path: string): Noted | 'unreadable' | null {
  let bytes: Buffer
  try {
    bytes = readFileSync(markFile(path))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
  const notes = SLOTS.flatMap((at) => decoded(bytes.subarray(at, at + BYTES)) ?? [])
  return notes.toSorted((a, b) => b.commits - a.commits)[0] ?? 'unreadable'
}

/** Writes the mark anew, synced, from which on every commit is noted. */
export function startMark(db: Connection, path: string, noted: Noted): Mark {
  // Not emptied first: if this is cut off, one of the old notes is still there.
  const file = openSync(markFile(path), constants.O_RDWR | constants.O_CREAT, 0o600)
  for (const at of SLOTS) writeSync(file, encoded(noted), 0, BYTES, at)
  fsyncSync(file)
  syncFolder(path)
  const write = db.run("UPDATE meta SET value = ? WHERE key = 'commits'")
  let { commits } = noted
  let isOpen = true

  return {
    count: () => void write(commits + 1),
    note() {
      commits += 1
      try {
        writeSync(file, encoded({ id: noted.id, commits }), 0, BYTES, SLOTS[commits % 2])
      } catch {
        // The commit is durable; only a loss of it would go unnoticed.
      }
    },
    async sync() {
      if (isOpen) await syncData(file)
    },
    remove: () => rmSync(markFile(path), { force: true }),
    close() {
      isOpen = false
      closeSync(file)
    },
  }
}

/** A file that was made or renamed is there after a power failure only if its folder was synced, too. */
export function syncFolder(path: string): void {
  if (process.platform === 'win32') return
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

function encoded({ id, commits }: Noted): Buffer {
  const bytes = Buffer.alloc(BYTES)
  bytes.write(MAGIC, 'latin1')
  bytes.writeDoubleLE(id, 8)
  bytes.writeDoubleLE(commits, 16)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, BYTES - 4)), BYTES - 4)
  return bytes
}

function decoded(bytes: Buffer): Noted | null {
  const isWhole =
    bytes.length === BYTES &&
    bytes.toString('latin1', 0, MAGIC.length) === MAGIC &&
    bytes.readUInt32LE(BYTES - 4) === crc32(bytes.subarray(0, BYTES - 4))
  return isWhole ? { id: bytes.readDoubleLE(8), commits: bytes.readDoubleLE(16) } : null
}
