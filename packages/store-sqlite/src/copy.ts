import type { StoreCopy } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import { closeSync, fstatSync, openSync, read } from 'node:fs'
import { promisify } from 'node:util'
import type { Checkpoints } from './checkpoints.js'

export interface Copying {
  copy(take: (copy: StoreCopy) => Promise<void>): Promise<void>
  /** Ends those under way. */
  stop(): void
  /** Once the database is closed, and not before: closing the file drops this process's lock on it. */
  close(): void
}

const CHUNK_BYTES = 1024 * 1024
/** While a copy is under way the journal only grows: whoever takes nothing for so long has given up. */
const STALL_MS = 30_000
const readFile = promisify(read)

/**
 * Reads the main file while checkpoints, which alone write to it, are held back. Commits go on into the journal, so a
 * copy stops nobody, however large it is. It holds what was committed before it began.
 */
export function copying(
  path: string,
  checkpoints: Checkpoints,
  { stallMs = STALL_MS }: { stallMs?: number } = {},
): Copying {
  const underWay = new Set<AbortController>()
  let file: number | null = null

  async function* chunksOf(fd: number, bytes: number, over: AbortController): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes;) {
      over.signal.throwIfAborted()
      const length = Math.min(CHUNK_BYTES, bytes - at)
      const { bytesRead, buffer } = await readFile(fd, Buffer.allocUnsafe(length), 0, length, at)
      if (bytesRead === 0) throw unavailable(`The database ${path} is shorter than it was.`)
      at += bytesRead
      const stall = setTimeout(() => over.abort(unavailable('The copy was not read for too long.')), stallMs)
      try {
        yield buffer.subarray(0, bytesRead)
      } finally {
        clearTimeout(stall)
      }
    }
    over.abort()
  }

  return {
    async copy(take) {
      const over = new AbortController()
      const { signal } = over
      let taken: Promise<void> | undefined
      underWay.add(over)
      try {
        await checkpoints.hold(async () => {
          signal.throwIfAborted()
          file ??= openSync(path, 'r')
          const bytes = fstatSync(file).size
          taken = take({ bytes, chunks: chunksOf(file, bytes, over) })
          const isRead = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
          await Promise.race([taken, isRead])
        })
        // What fails after the last chunk was read, or because of it, is what the caller is told.
        if (signal.reason instanceof AskbackError) throw signal.reason
        await taken
      } finally {
        taken?.catch(() => undefined)
        over.abort(unavailable('The copy has ended.'))
        underWay.delete(over)
      }
    },
    stop() {
      for (const over of underWay) over.abort(unavailable('The store is closed.'))
    },
    close() {
      if (file !== null) closeSync(file)
      file = null
    },
  }
}

function unavailable(message: string): AskbackError {
  return new AskbackError('unavailable', message)
}
