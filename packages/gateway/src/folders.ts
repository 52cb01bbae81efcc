import { AskbackError } from '@askback/protocol'
import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

/** A folder of this machine that a person names for an agent. */
export interface NamedFolder {
  /** The path, with the home folder of the gateway's user in place of `~`. */
  path: string
  /** Why no agent can work there, in one sentence; `null` if one can. */
  problem: string | null
}

/** Looks at a folder as the user of the gateway, who runs the agents. */
export async function findFolder(named: string): Promise<NamedFolder> {
  const path = expandHome(named)
  return { path, problem: await problemOf(path) }
}

/** Replaces `~` at the beginning by the home folder of the gateway's user. `~ada`, the home of another user, stays as it is. */
export function expandHome(path: string): string {
  return /^~(?:[/\\]|$)/.test(path) ? join(homedir(), path.slice(1)) : path
}

/** Throws if no agent can work in the folder. */
export async function checkFolder(path: string): Promise<void> {
  const problem = await problemOf(path)
  if (problem !== null) throw new AskbackError('invalid_request', problem)
}

async function problemOf(path: string): Promise<string | null> {
  if (!isAbsolute(path)) return `Write the folder with its whole path, from / or ~, not ${path}.`
  // A path with a NUL character, for example, cannot exist either.
  const found = await stat(path).catch((error: unknown) => (isDenied(error) ? 'denied' : null))
  if (found === null) return `The folder ${path} does not exist.`
  if (found !== 'denied' && !found.isDirectory()) return `${path} is a file, not a folder.`
  const isReadable =
    found !== 'denied' &&
    (await access(path, constants.R_OK | constants.X_OK).then(
      () => true,
      () => false,
    ))
  return isReadable ? null : `The user that runs this gateway may not open the folder ${path}.`
}

function isDenied(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EACCES' || error.code === 'EPERM')
}
