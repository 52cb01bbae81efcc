import { execFileSync } from 'node:child_process'
import { openSync, readSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The fields of the file that `disk-shim.c` maps, in their order there. */
const FIELDS = ['syncs', 'unsynced', 'failSync', 'failWrite', 'failOpen', 'failMainSync', 'writes'] as const
type DiskField = (typeof FIELDS)[number]

/**
 * Counts what a process writes and syncs to the files of its databases, and makes it fail with an error number. It works by a
 * preloaded library, with which it shares a file of 32-bit integers.
 */
export class DiskShim {
  /** The environment of a process to watch. */
  readonly env: Record<string, string>
  readonly #file: number

  constructor(library: string, counters: string) {
    writeFileSync(counters, Buffer.alloc(64))
    this.#file = openSync(counters, 'r+')
    this.env = { LD_PRELOAD: library, DISK_SHIM_COUNTERS: counters }
  }

  count(field: DiskField): number {
    const value = Buffer.alloc(4)
    readSync(this.#file, value, 0, 4, FIELDS.indexOf(field) * 4)
    return value.readInt32LE()
  }

  /** Makes these calls fail with `errno`; 0 lets them succeed again. */
  set(field: DiskField, errno: number): void {
    const value = Buffer.alloc(4)
    value.writeInt32LE(errno)
    writeSync(this.#file, value, 0, 4, FIELDS.indexOf(field) * 4)
  }
}

/** Compiles the library and returns its path. */
export function buildShim(folder: string): string {
  const file = join(folder, 'disk-shim.so')
  const source = fileURLToPath(new URL('disk-shim.c', import.meta.url))
  for (const compiler of ['cc', 'gcc', 'g++']) {
    try {
      execFileSync(compiler, ['-x', 'c', '-shared', '-fPIC', '-O1', '-o', file, source, '-ldl'], {
        stdio: 'pipe',
      })
      return file
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    }
  }
  throw new Error(
    'Counting the syncs of a process needs Linux and a C compiler (cc, gcc or g++); there is none here.',
  )
}
