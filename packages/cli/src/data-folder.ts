import { AskbackError } from '@askback/protocol/errors'
import { accessSync, chmodSync, constants, existsSync, mkdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

/** Where a user's programs keep their data on this system. */
export function defaultDataFolder(env: NodeJS.ProcessEnv = process.env, platform = process.platform): string {
  const home = homedir()
  switch (platform) {
    case 'darwin':
      return join(home, 'Library', 'Application Support', 'askback')
    case 'win32':
      return join(env['LOCALAPPDATA'] ?? join(home, 'AppData', 'Local'), 'askback')
    default:
      return join(env['XDG_DATA_HOME'] || join(home, '.local', 'share'), 'askback')
  }
}

/** Makes the folder if it is missing, for its owner's eyes only. */
export function openDataFolder(path: string | undefined): string {
  const folder = resolve(path ?? defaultDataFolder())
  try {
    makeFolder(folder)
    if (!statSync(folder).isDirectory()) throw new Error('it is a file')
    chmodSync(folder, 0o700)
    accessSync(folder, constants.W_OK | constants.X_OK)
    return folder
  } catch (error) {
    throw new AskbackError('unavailable', `The data folder ${folder} cannot be used: ${reasonOf(error)}.`, {
      cause: error,
    })
  }
}

/** Step by step: `mkdir` in its recursive form never comes back from some file systems that refuse. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  if (dirname(folder) !== folder) makeFolder(dirname(folder))
  mkdirSync(folder, { mode: 0o700 })
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return 'this user may not write there'
    case 'EROFS':
      return 'its file system is read-only'
    case 'ENOTDIR':
    case 'EEXIST':
      return 'a file is in the way'
    case 'ENOSPC':
      return 'the disk is full'
    case 'ENOENT':
      return 'it cannot be made there'
    default:
      return error instanceof Error ? error.message : String(error)
  }
}
