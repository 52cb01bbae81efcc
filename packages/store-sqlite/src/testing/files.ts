import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A temporary folder, in memory where the system has one: only the tests of durability need a disk. */
export function testFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'askback-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

const SUFFIXES = ['', '-wal', '-mark'] as const
type FileSuffix = (typeof SUFFIXES)[number]

/** Copies the files of a database in use, as if its process were killed now. `without` leaves some of them out. */
export function copyAsKilled(path: string, to: string, without: FileSuffix[] = []): string {
  for (const name of SUFFIXES)
    if (!without.includes(name) && existsSync(`${path}${name}`))
      copyFileSync(`${path}${name}`, `${to}${name}`)
  return to
}
