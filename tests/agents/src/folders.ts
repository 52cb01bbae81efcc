import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

const made: string[] = []

/** A folder for the tests of one file; it is removed when they are over. */
export async function folderOf(name: string): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), `askback-${name}-`)))
  made.push(folder)
  return folder
}

// A program that was just ended may still be writing.
afterAll(() =>
  Promise.all(made.map((folder) => rm(folder, { recursive: true, force: true, maxRetries: 10 }))),
)
