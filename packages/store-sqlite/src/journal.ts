import { closeSync, existsSync, linkSync, openSync, readSync, renameSync, rmSync, statSync } from 'node:fs'

/** What is read here of SQLite's write-ahead log is part of its documented file format, which does not change. */
const WAL_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
const PAGE_BYTES = 4096
/** Where the salts are, which are new each time the journal is written from its beginning. */
const SALTS = { inHeader: 16, inFrame: 8, bytes: 8 }
/** Of the main file. */
const FORMAT_AT = 18
const JOURNAL_FORMAT = 2

export function journalFile(path: string): string {
  return `${path}-wal`
}

export interface Journal {
  /** Whether it holds so many pages since the last checkpoint. Its size does not say: it is written from its beginning again. */
  reaches(frames: number): boolean
  /** It may have other salts from now on. */
  checkpointed(): void
  close(): void
}

export function journal(path: string): Journal {
  const salts = Buffer.alloc(SALTS.bytes)
  const found = Buffer.alloc(SALTS.bytes)
  let file: number | null = null
  let isKnown = false

  function read(into: Buffer, at: number): boolean {
    try {
      file ??= openSync(journalFile(path), 'r')
      return readSync(file, into, 0, into.length, at) === into.length
    } catch {
      // Then the time of the next checkpoint decides.
      return false
    }
  }

  return {
    reaches(frames) {
      const at = WAL_HEADER_BYTES + (frames - 1) * (FRAME_HEADER_BYTES + PAGE_BYTES) + SALTS.inFrame
      if (!read(found, at)) return false
      isKnown ||= read(salts, SALTS.inHeader)
      return isKnown && found.equals(salts)
    },
    checkpointed() {
      isKnown = false
    },
    close() {
      if (file !== null) closeSync(file)
      file = null
    },
  }
}

/**
 * Whether the main file says of itself that it has a journal, as it does from a start to a clean stop. Reading it closes
 * it, which would drop this process's own lock: nobody here may have it open.
 */
export function isInJournalMode(path: string): boolean {
  const file = openSync(path, 'r')
  try {
    const format = Buffer.alloc(1)
    return readSync(file, format, 0, 1, FORMAT_AT) === 1 && format[0] === JOURNAL_FORMAT
  } finally {
    closeSync(file)
  }
}

export function hasJournal(path: string): boolean {
  const file = journalFile(path)
  return existsSync(file) && statSync(file).size > 0
}

/** Runs `close`, which empties the journal into the main file and removes it, and puts it back as it was. */
export function keepingJournal(path: string, close: () => void): void {
  const [file, aside] = [journalFile(path), `${journalFile(path)}-kept`]
  try {
    rmSync(aside, { force: true })
    if (hasJournal(path)) linkSync(file, aside)
  } catch {
    // A file system without links.
  }
  close()
  if (existsSync(aside)) renameSync(aside, file)
  // A rename between two links of one file does nothing.
  rmSync(aside, { force: true })
}
