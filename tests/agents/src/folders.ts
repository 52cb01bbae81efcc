import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { eventually } from './eventually.js'
import { programsOf } from './processes.js'

const made: string[] = []

/** A folder for the tests of one file; it is removed when they are over. */
export async function folderOf(name: string): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), `askback-${name}-`)))
  made.push(folder)
  return folder
}

/** What a program has kept below its home, once it has ended. It may have ended before it wrote any of it. */
export async function lose(home: string, kept: string): Promise<void> {
  await eventually(() => expect(programsOf(home)).toEqual([]))
  await rm(join(home, kept), { recursive: true, force: true })
}

// A program that was just ended may still be writing.
afterAll(() =>
  Promise.all(made.map((folder) => rm(folder, { recursive: true, force: true, maxRetries: 10 }))),
)
