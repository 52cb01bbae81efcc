import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** In memory where the system has such a folder: only the tests of durability need a disk. */
export function testFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'askback-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
