import { access, constants, stat } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { AskbackError } from '@askback/protocol'

/** Where a program lies that is named by its path, or by a name on PATH; `null` if it is nowhere. */
export async function findProgram(name: string, path: string | undefined): Promise<string | null> {
  const isPath = /[/\\]/.test(name)
  const folders = (path ?? '').split(delimiter).filter(Boolean)
  for (const place of isPath ? [name] : folders.map((folder) => join(folder, name))) {
    const found = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (found) return place
  }
  return null
}

/** Says by name that a session's folder is not there. */
export async function checkFolder(cwd: string | null, agent: string): Promise<void> {
  if (cwd === null) return
  const found = await stat(cwd).catch(() => null)
  if (!found?.isDirectory())
    throw new AskbackError(
      'invalid_request',
      `The folder ${cwd} does not exist, so ${agent} cannot work in it.`,
    )
}
