// Follows paths by name alone, for a folder of either kind of system. Only reading a link needs the host.

/** Where the link at an absolute path leads; `null` for what is no link, or is not there. Throws if it cannot tell. */
export type ReadLink = (path: string) => Promise<string | null>

/** As many links as Linux follows. */
const MAX_LINKS = 40

export interface Place {
  /** `/`, or the drive or share with its separator. */
  root: string
  names: readonly string[]
}

/** The path of a folder with all links followed; `null` if it is relative or cannot be followed. */
export async function realFolder(path: string, readLink: ReadLink): Promise<string | null> {
  if (!isAbsolute(path) || path.includes('\0')) return null
  const files = new Files(path, readLink)
  try {
    return files.pathOf(await files.follow(files.rootOf(path), path))
  } catch {
    return null
  }
}

export function isAbsolute(path: string): boolean {
  return path.startsWith('/') || isWindows(path)
}

/** An absolute path of Windows. There both separators count. */
function isWindows(path: string): boolean {
  return /^(?:[A-Za-z]:[/\\]|\\\\)/.test(path)
}

/** Follows paths in the manner of the system that a folder's path is written for. */
export class Files {
  readonly #readLink: ReadLink
  readonly #separator: RegExp
  readonly #isWindows: boolean

  constructor(folder: string, readLink: ReadLink) {
    this.#readLink = readLink
    this.#isWindows = isWindows(folder)
    this.#separator = this.#isWindows ? /[/\\]/ : /\//
  }

  rootOf(path: string): Place {
    if (!this.#isWindows) return { root: '/', names: [] }
    const [, share] = /^([A-Za-z]:|\\\\[^/\\]+[/\\][^/\\]+)/.exec(path) ?? []
    if (share === undefined) throw new Error(`${path} has no root.`)
    return { root: `${share.replaceAll('/', '\\').toLowerCase()}\\`, names: [] }
  }

  pathOf({ root, names }: Place): string {
    return `${root}${names.join(this.#isWindows ? '\\' : '/')}`
  }

  /** A path that has no links in it, or whose links must not be followed. */
  placeOf(path: string): Place {
    const { root, names } = this.rootOf(path)
    const below = path.slice(root.length).split(this.#separator)
    return { root, names: [...names, ...below.filter((name) => name !== '')] }
  }

  /** The same path with each `name/..` left out, whatever `name` is. */
  withoutDots(path: string): string {
    const kept: string[] = []
    for (const name of path.split(this.#separator)) {
      if (name === '.') continue
      if (name === '..' && kept.length > 0 && kept.at(-1) !== '..' && kept.at(-1) !== '') kept.pop()
      else kept.push(name)
    }
    return kept.join(this.#isWindows ? '\\' : '/')
  }

  async follow(from: Place, path: string, linksLeft = MAX_LINKS): Promise<Place> {
    const isRooted = this.#isWindows ? isWindows(path) : path.startsWith('/')
    // On Windows `\x` and `C:x` depend on a current drive or folder that we do not know.
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
      const place = { root: here.root, names: [...here.names, name] }
      const link = await this.#readLink(this.pathOf(place))
      if (link === null) here = place
      else if (linksLeft === 0) throw new Error(`Too many links at ${path}.`)
      else here = await this.follow(here, link, linksLeft - 1)
    }
    return here
  }
}
