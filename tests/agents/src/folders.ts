import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { eventually } from './eventually.js'
import { programsOf } from './processes.js'

const made: string[] = []

/** Creates a folder, which is removed after the tests of the file. */
export async function folderOf(name: string): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), `askback-${name}-`)))
  made.push(folder)
  return folder
}

/** Removes what a program has stored below its home, after the program has ended. */
export async function removeStored(home: string, stored: string): Promise<void> {
  await eventually(() => expect(programsOf(home)).toEqual([]))
  await rm(join(home, stored), { recursive: true, force: true })
}

// A program that is ending may still write.
afterAll(() =>
  Promise.all(made.map((folder) => rm(folder, { recursive: true, force: true, maxRetries: 10 }))),
)
