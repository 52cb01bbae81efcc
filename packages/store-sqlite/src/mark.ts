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
import type { Connection } from './connection.js'

/** The id of the database, and the position of its last acknowledged transaction. */
export interface MarkContent {
  id: number
  latest: number
}

/**
 * A small file beside the database that says how much of it was acknowledged. Every transaction has a position (see
 * `sequence.ts`): that of its append, or one that it writes to `meta.latest`. After the commit, and before the
 * acknowledgement, that position is written here. A database whose latest position is before its mark has lost acknowledged
 * writes, whatever happened to its files.
 *
 * Writing the mark needs no sync. If the process dies, the operating system still writes it. If the machine fails, it may be some
 * seconds old, as of its last sync. It is never ahead of the database on the disk, so it never reports a loss that did not happen.
 */
export interface Mark {
  /** Writes the position to the database, inside a transaction that appends nothing. */
  record(position: number): void
  /** Writes the position to the file, after the commit of its transaction. */
  note(position: number): void
  sync(): Promise<void>
  /** To be called after a clean stop, which the database itself records. */
  remove(): void
  close(): void
}

const MAGIC = 'askback1'
const BYTES = 64
/** Two copies, written alternately, each in its own page: a power failure during a write damages at most one of them. */
const SLOTS: readonly number[] = [0, 4096]
const syncData = promisify(fdatasync)

export function markFile(path: string): string {
  return `${path}-mark`
}

/** Returns `null` if there is no mark, `'unreadable'` if both copies are damaged. */
export function readMark(path: string): MarkContent | 'unreadable' | null {
  let bytes: Buffer
  try {
    bytes = readFileSync(markFile(path))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
  const copies = SLOTS.flatMap((at) => decoded(bytes.subarray(at, at + BYTES)) ?? [])
  return copies.toSorted((a, b) => b.latest - a.latest)[0] ?? 'unreadable'
}

/** Writes and syncs a new mark. From then on every commit must be noted. */
export function startMark(db: Connection, path: string, content: MarkContent): Mark {
  // The file is not truncated first, so that after a crash during this write one old copy is still readable.
  const file = openSync(markFile(path), constants.O_RDWR | constants.O_CREAT, 0o600)
  const bytes = encoded(content)
  for (const at of SLOTS) writeSync(file, bytes, 0, BYTES, at)
  fsyncSync(file)
  syncFolder(path)
  const write = db.run("UPDATE meta SET value = ? WHERE key = 'latest'")
  let slot = 0
  let isOpen = true

  return {
    record: (position) => void write(position),
    note(position) {
      slot = 1 - slot
      setLatest(bytes, position)
      try {
        writeSync(file, bytes, 0, BYTES, SLOTS[slot])
      } catch {
        // The commit is durable. Only its loss would not be noticed.
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

/** A file that was created or renamed survives a power failure only if its folder was synced, too. */
export function syncFolder(path: string): void {
  if (process.platform === 'win32') return
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

function encoded({ id, latest }: MarkContent): Buffer {
  const bytes = Buffer.alloc(BYTES)
  bytes.write(MAGIC, 'latin1')
  bytes.writeDoubleLE(id, 8)
  setLatest(bytes, latest)
  return bytes
}

function setLatest(bytes: Buffer, latest: number): void {
  bytes.writeDoubleLE(latest, 16)
  bytes.writeUInt32LE(crcOf(bytes), BYTES - 4)
}

function decoded(bytes: Buffer): MarkContent | null {
  const isValid =
    bytes.length === BYTES &&
    bytes.toString('latin1', 0, MAGIC.length) === MAGIC &&
    bytes.readUInt32LE(BYTES - 4) === crcOf(bytes)
  return isValid ? { id: bytes.readDoubleLE(8), latest: bytes.readDoubleLE(16) } : null
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  return crc
})

/** CRC-32 of the mark. For so few bytes a call of zlib takes ten times as long, and every commit writes a mark. */
function crcOf(bytes: Buffer): number {
  let crc = 0xffffffff
  for (let at = 0; at < BYTES - 4; at++) crc = (crc >>> 8) ^ CRC_TABLE[(crc ^ bytes[at]!) & 0xff]!
  return (crc ^ 0xffffffff) >>> 0
}
