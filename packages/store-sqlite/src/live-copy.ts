import type { StoreCopy } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import { closeSync, fstatSync, openSync, read } from 'node:fs'
import { promisify } from 'node:util'
import type { Checkpoints } from './checkpoints.js'

export interface LiveCopies {
  copy(take: (copy: StoreCopy) => Promise<void>): Promise<void>
  /** Aborts running copies. */
  stop(): void
  /** To be called after the database was closed: closing the file releases this process's lock on it. */
  close(): void
}

const CHUNK_BYTES = 1024 * 1024
/** A copy whose reader pauses for longer is aborted, because the journal grows during a copy. */
const MAX_READER_PAUSE_MS = 30_000
const readFile = promisify(read)

/**
 * Copies a database that is in use. It reads the main file while checkpoints, which alone write to it, are suspended. Commits
 * continue into the journal, so a copy delays no writer, however large it is. It contains what was committed before it began.
 */
export function liveCopies(
  path: string,
  checkpoints: Checkpoints,
  { maxReaderPauseMs = MAX_READER_PAUSE_MS }: { maxReaderPauseMs?: number } = {},
): LiveCopies {
  const running = new Set<AbortController>()
  let file: number | null = null

  async function* chunksOf(fd: number, bytes: number, end: AbortController): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes;) {
      end.signal.throwIfAborted()
      const length = Math.min(CHUNK_BYTES, bytes - at)
      const { bytesRead, buffer } = await readFile(fd, Buffer.allocUnsafe(length), 0, length, at)
      if (bytesRead === 0) throw unavailable(`The database ${path} is shorter than it was.`)
      at += bytesRead
      const pauseTimer = setTimeout(
        () => end.abort(unavailable('The copy was not read for too long.')),
        maxReaderPauseMs,
      )
      try {
        yield buffer.subarray(0, bytesRead)
      } finally {
        clearTimeout(pauseTimer)
      }
    }
    end.abort()
  }

  return {
    async copy(take) {
      const end = new AbortController()
      const { signal } = end
      let taken: Promise<void> | undefined
      running.add(end)
      try {
        await checkpoints.hold(async () => {
          signal.throwIfAborted()
          file ??= openSync(path, 'r')
          const bytes = fstatSync(file).size
          taken = take({ bytes, chunks: chunksOf(file, bytes, end) })
          const isRead = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
          await Promise.race([taken, isRead])
        })
        // Whatever aborted the copy is the error; otherwise the result of `take` is awaited, also after the last chunk.
        if (signal.reason instanceof AskbackError) throw signal.reason
        await taken
      } finally {
        taken?.catch(() => undefined)
        end.abort(unavailable('The copy has ended.'))
        running.delete(end)
      }
    },
    stop() {
      for (const end of running) end.abort(unavailable('The store is closed.'))
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
