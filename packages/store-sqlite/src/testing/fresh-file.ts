import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

const folders: string[] = []

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** A path for a database that does not exist yet, in a folder of its own that goes after the tests. */
export function freshFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'askback-store-'))
  folders.push(folder)
  return join(folder, 'askback.db')
}
