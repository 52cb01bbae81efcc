import type { Json } from '@askback/protocol'
import type { EditTarget } from './permissions.js'

// The one place that decides what counts as an edit inside a session's folder, for adapters, HTTP, MCP and hooks alike. It works
// on names alone, and asks its host for nothing but where a link leads.

/** Where the link at an absolute path leads; `null` for what is no link, or is not there. Throws if it cannot tell. */
export type ReadLink = (path: string) => Promise<string | null>

export interface EditScope {
  cwd: string | null
  /** The folder of the agent's plans, if it has one. */
  plans?: string | null
  /** Places inside `cwd` in which an edit is more than an edit, beside `PROTECTED_PATHS`. */
  protectedPaths?: readonly string[]
}

/**
 * What these hold is run by programs by themselves, or decides what an agent may do. Each counts at any depth, whatever the
 * case of its letters.
 */
export const PROTECTED_PATHS: readonly string[] = [
  '.git',
  '.claude',
  '.codex',
  '.mcp.json',
  '.vscode',
  '.husky',
  '.envrc',
  '.npmrc',
  '.github/workflows',
]

const EDIT_TOOLS: ReadonlySet<string> = new Set(['Write', 'Edit', 'MultiEdit', 'NotebookEdit'])
/** The inputs of these tools that name a file. All that are given count. */
const PATH_INPUTS = ['file_path', 'notebook_path']

/** As many links as Linux follows. */
const MAX_LINKS = 40

/** What a tool of this name and input would write. Without a host's file system no edit is inside. */
export async function editTarget(
  { toolName, input }: { toolName: string; input: Json },
  scope: EditScope,
  readLink: ReadLink | undefined,
): Promise<EditTarget> {
  if (!EDIT_TOOLS.has(toolName)) return 'none'
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return 'outside'
  const paths = PATH_INPUTS.flatMap((name) => (Object.hasOwn(input, name) ? [input[name]] : []))
  return paths.every((path) => typeof path === 'string') ? targetOfPaths(paths, scope, readLink) : 'outside'
}

/** The same for an agent that names what it would write: all of it must be inside. */
export async function targetOfPaths(
  paths: readonly string[],
  { cwd, plans = null, protectedPaths = [] }: EditScope,
  readLink: ReadLink | undefined,
): Promise<EditTarget> {
  if (paths.length === 0 || !readLink) return 'outside'
  const areIn = async (folder: string | null, isWanted: (path: string) => boolean = () => true) => {
    if (folder === null || !paths.every(isWanted)) return false
    for (const path of paths) if (!(await isInside(folder, path, protectedPaths, readLink))) return false
    return true
  }
  if (await areIn(plans, isAbsolute)) return 'plan_file'
  return (await areIn(cwd)) ? 'inside' : 'outside'
}

/**
 * Whether a path, links followed, lies inside a folder and in no protected place of it; what does not exist yet lies where it
 * would be made. Some tools take `link/..` for the folder that holds the link, others for the one above where it leads: it must
 * be inside for both. A shell or a tool may expand a leading `~` or `$`, so that these lead anywhere.
 */
async function isInside(
  folder: string,
  path: string,
  protectedPaths: readonly string[],
  readLink: ReadLink,
): Promise<boolean> {
  if (path === '' || /^[~$]/.test(path) || path.includes('\0') || !isAbsolute(folder)) return false
  try {
    const files = new Files(folder, readLink)
    const root = await files.follow(files.rootOf(folder), folder)
    for (const reading of [path, files.withoutDots(path)]) {
      const place = await files.follow(root, reading)
      if (!isBelow(root, place)) return false
      if (isProtected(place.names.slice(root.names.length), protectedPaths)) return false
    }
    return true
  } catch {
    // A path that cannot be followed leads nowhere that we know.
    return false
  }
}

interface Place {
  /** `/`, or the drive or share with its separator. */
  root: string
  names: readonly string[]
}

function isBelow(root: Place, place: Place): boolean {
  if (place.root !== root.root || place.names.length <= root.names.length) return false
  return root.names.every((name, index) => name === place.names[index])
}

function isProtected(names: readonly string[], more: readonly string[]): boolean {
  const keys = names.map(nameKey)
  return [...PROTECTED_PATHS, ...more].some((path) => {
    const wanted = path
      .split(/[/\\]/)
      .filter((name) => name !== '' && name !== '.')
      .map(nameKey)
    const isAt = (start: number) => wanted.every((name, index) => name === keys[start + index])
    return wanted.length > 0 && keys.some((_, start) => isAt(start))
  })
}

/**
 * A name as the most forgiving file system reads it: some ignore case, how a letter is composed, invisible characters, dots and
 * spaces at the end, or take what follows a colon for a stream of the same file.
 */
function nameKey(name: string): string {
  const visible = name.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '')
  return visible
    .replace(/(?!^):.*$/s, '')
    .replace(/[. ]+$/, '')
    .toLowerCase()
}

function isAbsolute(path: string): boolean {
  return path.startsWith('/') || isWindows(path)
}

/** An absolute path of Windows. There both separators count. */
function isWindows(path: string): boolean {
  return /^(?:[A-Za-z]:[/\\]|\\\\)/.test(path)
}

/** Follows paths in the manner of the system that a folder's path is written for. */
class Files {
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
      const link = await this.#readLink(`${place.root}${place.names.join(this.#isWindows ? '\\' : '/')}`)
      if (link === null) here = place
      else if (linksLeft === 0) throw new Error(`Too many links at ${path}.`)
      else here = await this.follow(here, link, linksLeft - 1)
    }
    return here
  }
}
