import { readlink, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

/** As many as Linux follows. */
const MOST_LINKS = 40

/** Whether a path, links followed, lies inside a folder. What does not exist yet lies where it would be made. */
export async function isInside(folder: string, path: string): Promise<boolean> {
  if (path.includes('\0')) return false
  try {
    const root = await realpath(folder)
    const way = relative(root, await target(resolve(root, path), MOST_LINKS))
    return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
  } catch {
    // A folder that is not there, or a path that cannot be followed, holds nothing.
    return false
  }
}

async function target(path: string, linksLeft: number): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    const parent = dirname(path)
    if (codeOf(error) !== 'ENOENT' || parent === path || linksLeft === 0) throw error
    const place = join(await target(parent, linksLeft), basename(path))
    const link = await linkAt(place)
    // A link to what does not exist: writing would make it there.
    return link === null ? place : target(resolve(dirname(place), link), linksLeft - 1)
  }
}

async function linkAt(path: string): Promise<string | null> {
  try {
    return await readlink(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
