import { AskbackError } from '@askback/protocol/errors'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Holds the tokens that a gateway made at its first start. */
export function tokensFile(dataFolder: string): string {
  return join(dataFolder, 'tokens.json')
}

/** A small JSON file that only its owner reads. `null` if there is none. */
export function readPrivate(path: string): Record<string, unknown> | null {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw new AskbackError('unavailable', `The file ${path} cannot be read.`, { cause: error })
  }
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>
  } catch {
    // Said below, in words.
  }
  throw new AskbackError('unavailable', `The file ${path} is damaged: it is not a JSON object.`)
}

/** At once or not at all: a crash leaves the old one. */
export function writePrivate(path: string, value: Record<string, unknown>): void {
  const draft = `${path}.${process.pid}`
  try {
    writeFileSync(draft, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 })
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw new AskbackError('unavailable', `The file ${path} cannot be written.`, { cause: error })
  }
}
