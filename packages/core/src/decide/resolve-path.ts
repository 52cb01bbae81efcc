// Resolves links in paths of POSIX and Windows by their text. Only reading a link needs the host, so this runs anywhere and is tested
// without a file system.

/** The target of the link at an absolute path; `null` if there is no link. Throws if that cannot be found out. */
export type ReadLink = (path: string) => Promise<string | null>

/**
 * Makes a `ReadLink` of the function `readlink` of `node:fs/promises`, which throws for a path that is no link or does not exist.
 */
export function linkReader(readlink: (path: string) => Promise<string>): ReadLink {
  return async (path) => {
    try {
      return await readlink(path)
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined
      // Windows reports UNKNOWN for a path that is no link.
      if (code === 'EINVAL' || code === 'ENOENT' || code === 'UNKNOWN') return null
      throw error
    }
  }
}

/** The limit of Linux. */
const MAX_LINKS = 40

export interface ResolvedPath {
  /** `/`, or a drive or share of Windows with its separator. */
  root: string
  names: readonly string[]
}

/** The path of a folder with all links followed; `null` if it is relative or cannot be followed. */
export async function realFolder(path: string, readLink: ReadLink): Promise<string | null> {
  if (!isAbsolute(path) || path.includes('\0')) return null
  const files = new PathResolver(path, readLink)
  try {
    return files.pathOf(await files.follow(files.rootOf(path), path))
  } catch {
    return null
  }
}

export function isAbsolute(path: string): boolean {
  return path.startsWith('/') || isWindows(path)
}

/** An absolute path of Windows, which may be written with either separator. */
function isWindows(path: string): boolean {
  return /^(?:[A-Za-z]:[/\\]|\\\\)/.test(path)
}

/** Resolves paths by the rules of the system that the folder's path is written for. */
export class PathResolver {
  readonly #readLink: ReadLink
  readonly #separator: RegExp
  readonly #isWindows: boolean

  constructor(folder: string, readLink: ReadLink) {
    this.#readLink = readLink
    this.#isWindows = isWindows(folder)
    this.#separator = this.#isWindows ? /[/\\]/ : /\//
  }

  rootOf(path: string): ResolvedPath {
    if (!this.#isWindows) return { root: '/', names: [] }
    const [, share] = /^([A-Za-z]:|\\\\[^/\\]+[/\\][^/\\]+)/.exec(path) ?? []
    if (share === undefined) throw new Error(`${path} has no root.`)
    return { root: `${share.replaceAll('/', '\\').toLowerCase()}\\`, names: [] }
  }

  pathOf({ root, names }: ResolvedPath): string {
    return `${root}${names.join(this.#isWindows ? '\\' : '/')}`
  }

  /** Parses a path without following links. */
  withoutLinks(path: string): ResolvedPath {
    const { root, names } = this.rootOf(path)
    const below = path.slice(root.length).split(this.#separator)
    return { root, names: [...names, ...below.filter((name) => name !== '')] }
  }

  /** The path without each `name/..`, also where `name` is a link. */
  withoutDots(path: string): string {
    const names: string[] = []
    for (const name of path.split(this.#separator)) {
      if (name === '.') continue
      if (name === '..' && names.length > 0 && names.at(-1) !== '..' && names.at(-1) !== '') names.pop()
      else names.push(name)
    }
    return names.join(this.#isWindows ? '\\' : '/')
  }

  async follow(from: ResolvedPath, path: string, linksLeft = MAX_LINKS): Promise<ResolvedPath> {
    const isRooted = this.#isWindows ? isWindows(path) : path.startsWith('/')
    // On Windows `\x` and `C:x` depend on a current drive or folder, which is unknown here.
    if (this.#isWindows && !isRooted && /^(?:[/\\]|[A-Za-z]:)/.test(path))
      throw new Error(`${path} is relative.`)
    const start = isRooted ? this.rootOf(path) : from
    const rest = isRooted && this.#isWindows ? path.slice(start.root.length) : path
    let here = start
    for (const name of rest.split(this.#separator)) {
      if (name === '' || name === '.') continue
      if (name === '..') {
        here = { root: here.root, names: here.names.slice(0, -1) }
        continue
      }
      const next = { root: here.root, names: [...here.names, name] }
      const link = await this.#readLink(this.pathOf(next))
      if (link === null) here = next
      else if (linksLeft === 0) throw new Error(`Too many links at ${path}.`)
      else here = await this.follow(here, link, linksLeft - 1)
    }
    return here
  }
}
