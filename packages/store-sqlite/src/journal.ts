import { closeSync, existsSync, linkSync, openSync, readSync, renameSync, rmSync, statSync } from 'node:fs'

/*
 * SQLite's write-ahead log, called the journal here. What is read of it is part of its documented file format, which does not
 * change.
 */

const WAL_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
const PAGE_BYTES = 4096
/** Offsets of the salts: numbers that change each time SQLite starts to write the journal from its beginning again. */
const SALTS = { inHeader: 16, inFrame: 8, bytes: 8 }
/** The offset of the format in the main file, and its value in WAL mode. */
const FORMAT_OFFSET = 18
const WAL_FORMAT = 2

export function journalFile(path: string): string {
  return `${path}-wal`
}

export interface Journal {
  /** Whether it has at least `frames` pages since the last checkpoint. Its size does not show that, because it does not shrink. */
  hasFrames(frames: number): boolean
  /** To be called after a checkpoint, because the journal gets new salts. */
  checkpointed(): void
  close(): void
}

export function openJournal(path: string): Journal {
  const salts = Buffer.alloc(SALTS.bytes)
  const found = Buffer.alloc(SALTS.bytes)
  let file: number | null = null
  let areSaltsKnown = false

  function read(into: Buffer, at: number): boolean {
    try {
      file ??= openSync(journalFile(path), 'r')
      return readSync(file, into, 0, into.length, at) === into.length
    } catch {
      // Then the next checkpoint happens when its time has come.
      return false
    }
  }

  return {
    hasFrames(frames) {
      const at = WAL_HEADER_BYTES + (frames - 1) * (FRAME_HEADER_BYTES + PAGE_BYTES) + SALTS.inFrame
      if (!read(found, at)) return false
      areSaltsKnown ||= read(salts, SALTS.inHeader)
      return areSaltsKnown && found.equals(salts)
    },
    checkpointed() {
      areSaltsKnown = false
    },
    close() {
      if (file !== null) closeSync(file)
      file = null
    },
  }
}

/**
 * Whether the main file is in WAL mode, as it is between a start and a clean stop. This closes the file, which releases locks of
 * this process on it, so it must not be open here.
 */
export function isInJournalMode(path: string): boolean {
  const file = openSync(path, 'r')
  try {
    const format = Buffer.alloc(1)
    return readSync(file, format, 0, 1, FORMAT_OFFSET) === 1 && format[0] === WAL_FORMAT
  } finally {
    closeSync(file)
  }
}

/** Whether there is a journal that is not empty. */
export function hasJournal(path: string): boolean {
  const file = journalFile(path)
  return existsSync(file) && statSync(file).size > 0
}

/** Runs `close`, which moves the journal into the main file and deletes it, and then restores the journal. */
export function preserveJournal(path: string, close: () => void): void {
  const [file, link] = [journalFile(path), `${journalFile(path)}-kept`]
  try {
    rmSync(link, { force: true })
    if (hasJournal(path)) linkSync(file, link)
  } catch {
    // The file system has no links. Then the journal is not preserved.
  }
  close()
  if (existsSync(link)) renameSync(link, file)
  // A rename between two links of one file does nothing, so the link may still exist.
  rmSync(link, { force: true })
}
