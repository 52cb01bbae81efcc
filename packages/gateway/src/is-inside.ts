import { readlink, realpath } from 'node:fs/promises'
import { dirname, isAbsolute, join, normalize, parse, relative, sep } from 'node:path'

/** As many as Linux follows. */
const MOST_LINKS = 40
const SEPARATOR = sep === '/' ? '/' : /[/\\]/

/**
 * Whether a path, links followed, lies inside a folder; what does not exist yet lies where it would be made. Some tools
 * take `link/..` for the folder that holds the link, others for the one above where it leads: it must be inside for both.
 */
export async function isInside(folder: string, path: string): Promise<boolean> {
  if (path === '' || path.includes('\0')) return false
  try {
    const root = await realpath(folder)
    const ways = [path, normalize(path)].map(async (each) =>
      relative(root, await follow(root, each, MOST_LINKS)),
    )
    return (await Promise.all(ways)).every(leadsInside)
  } catch {
    // A folder that is not there, or a path that cannot be followed, holds nothing.
    return false
  }
}

function leadsInside(way: string): boolean {
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

async function follow(start: string, path: string, linksLeft: number): Promise<string> {
  const { root } = parse(path)
  let here = isAbsolute(path) ? root : start
  for (const part of path.slice(root.length).split(SEPARATOR)) {
    if (part === '' || part === '.') continue
    if (part === '..') {
      here = dirname(here)
      continue
    }
    const place = join(here, part)
    const link = await linkAt(place)
    if (link !== null && linksLeft === 0) throw new Error(`Too many links at ${place}`)
    here = link === null ? place : await follow(here, link, linksLeft - 1)
  }
  return here
}

/** Where a link leads; `null` for what is none, or is not there. */
async function linkAt(path: string): Promise<string | null> {
  try {
    return await readlink(path)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EINVAL' || code === 'ENOENT' || code === 'UNKNOWN') return null
    throw error
  }
}
