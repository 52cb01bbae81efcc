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

/** Which database it is, and the place that its last acknowledged transaction has taken. */
export interface Noted {
  id: number
  latest: number
}

/**
 * How far a database was acknowledged, outside of it: a small file beside it. Every transaction takes a place (see
 * `places.ts`): that of the append it holds, or one that it writes to `meta.latest`. After its commit, and before it is
 * acknowledged, that place is noted here. A database whose latest place is before its mark has lost what was
 * acknowledged, whatever happened to its files.
 *
 * The note costs no sync: if the process dies the system still writes it, if the machine does it may be as old as the last
 * sync of it, some seconds. It is never ahead of the disk, so it never claims a loss that there was not.
 */
export interface Mark {
  /** Inside a transaction that appends nothing. */
  record(place: number): void
  /** After the commit of a transaction that has this place. */
  note(place: number): void
  sync(): Promise<void>
  /** After a clean stop the database says of itself that it is whole. */
  remove(): void
  close(): void
}

const MAGIC = 'askback1'
const BYTES = 64
/** Written in turn, each in a page of its own: a write that is cut by a power failure spoils one of them. */
const SLOTS: readonly number[] = [0, 4096]
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
  return notes.toSorted((a, b) => b.latest - a.latest)[0] ?? 'unreadable'
}

/** Writes the mark anew, synced; from then on every commit is noted. */
export function startMark(db: Connection, path: string, noted: Noted): Mark {
  // Not emptied first: if this is cut off, one of the old notes is still there.
  const file = openSync(markFile(path), constants.O_RDWR | constants.O_CREAT, 0o600)
  const bytes = encoded(noted)
  for (const at of SLOTS) writeSync(file, bytes, 0, BYTES, at)
  fsyncSync(file)
  syncFolder(path)
  const write = db.run("UPDATE meta SET value = ? WHERE key = 'latest'")
  let slot = 0
  let isOpen = true

  return {
    record: (place) => void write(place),
    note(place) {
      slot = 1 - slot
      setLatest(bytes, place)
      try {
        writeSync(file, bytes, 0, BYTES, SLOTS[slot])
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

function encoded({ id, latest }: Noted): Buffer {
  const bytes = Buffer.alloc(BYTES)
  bytes.write(MAGIC, 'latin1')
  bytes.writeDoubleLE(id, 8)
  setLatest(bytes, latest)
  return bytes
}

function setLatest(bytes: Buffer, latest: number): void {
  bytes.writeDoubleLE(latest, 16)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, BYTES - 4)), BYTES - 4)
}

function decoded(bytes: Buffer): Noted | null {
  const isWhole =
    bytes.length === BYTES &&
    bytes.toString('latin1', 0, MAGIC.length) === MAGIC &&
    bytes.readUInt32LE(BYTES - 4) === crc32(bytes.subarray(0, BYTES - 4))
  return isWhole ? { id: bytes.readDoubleLE(8), latest: bytes.readDoubleLE(16) } : null
}
