import { readlink, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { AskOptions } from '@askback/core'

type EditTarget = NonNullable<AskOptions['edit']>

/** Which input names the file that a tool writes. */
const editedFile: Readonly<Record<string, string>> = {
  Write: 'file_path',
  Edit: 'file_path',
  MultiEdit: 'file_path',
  NotebookEdit: 'notebook_path',
}

/** What programs run by themselves is kept in these: an edit there is more than an edit. */
const GUARDED = new Set(['.claude', '.git'])

/** As many as Linux follows. */
const MOST_LINKS = 40

/** What a tool would write, links followed: the permission table treats edits inside the session's folder differently. */
export async function editTarget(
  toolName: string,
  input: Record<string, unknown>,
  { cwd, plans }: { cwd: string | null; plans: string | null },
): Promise<EditTarget> {
  const name = Object.hasOwn(editedFile, toolName) ? editedFile[toolName] : undefined
  if (name === undefined) return 'none'
  const path = input[name]
  if (typeof path !== 'string' || path === '' || path.includes('\0')) return 'outside'
  if (plans !== null && isAbsolute(path) && (await isInside(plans, path))) return 'plan_file'
  return cwd !== null && (await isInside(cwd, path)) ? 'inside' : 'outside'
}

async function isInside(folder: string, path: string): Promise<boolean> {
  try {
    const root = await realpath(folder)
    const way = relative(root, await target(resolve(root, path), MOST_LINKS))
    if (way.split(sep).some((name) => GUARDED.has(name.toLowerCase()))) return false
    return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
  } catch {
    // A folder that is not there, or a path that cannot be followed, holds nothing.
    return false
  }
}

/** Where writing would end up: what does not exist yet lies where it would be made. */
async function target(path: string, linksLeft: number): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    const parent = dirname(path)
    if (!isMissing(error) || parent === path || linksLeft === 0) throw error
    const place = join(await target(parent, linksLeft), basename(path))
    const link = await readlink(place).catch((failed: unknown) => {
      if (isMissing(failed)) return null
      throw failed
    })
    return link === null ? place : target(resolve(dirname(place), link), linksLeft - 1)
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
