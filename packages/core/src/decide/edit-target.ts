import type { Json } from '@askback/protocol'
import { PathResolver, isAbsolute, type ResolvedPath, type ReadLink } from './resolve-path.js'
import type { EditTarget } from './permissions.js'

// Decides whether an edit is inside a session's folder, for adapters, HTTP, MCP and hooks alike. It works on the text of paths and
// asks the host only for the targets of links.

/** The folders by which an edit is judged. */
export interface EditScope {
  cwd: string | null
  /**
   * `cwd` with links resolved when the session was created. Edits must be inside this path, because the agent may have
   * replaced the folder by a link since. `null` if it could not be resolved: then no edit is inside. Undefined in old logs: then `cwd` is
   * resolved now.
   */
  realCwd?: string | null | undefined
  /** The folder of the agent's plans, if it has one. */
  plans?: string | null
  /** As `realCwd`, for `plans`. */
  realPlans?: string | null | undefined
  /** Names or paths inside `cwd` that are always asked about, in addition to `PROTECTED_PATHS`. */
  protectedPaths?: readonly string[]
}

/**
 * Programs run the content of these files on their own, or the files decide what an agent may do. So edits of them are always asked
 * about. Each name or path counts at any depth, in upper or lower case.
 */
export const PROTECTED_PATHS: readonly string[] = [
  '.git',
  '.claude',
  '.claude.json',
  '.codex',
  '.cursor',
  '.gemini',
  '.opencode',
  '.mcp.json',
  '.ssh',
  '.vscode',
  '.idea',
  '.devcontainer',
  '.husky',
  '.pre-commit-config.yaml',
  '.envrc',
  '.npmrc',
  '.yarnrc.yml',
  '.cargo/config',
  '.cargo/config.toml',
  '.github/actions',
  '.github/workflows',
  '.gitlab-ci.yml',
]

/** Settings folders in which agents create worktrees. */
const WORKTREE_OWNERS: ReadonlySet<string> = new Set(['.claude', '.codex'])

const EDIT_TOOLS: ReadonlySet<string> = new Set(['Write', 'Edit', 'MultiEdit', 'NotebookEdit'])
/** Inputs of these tools that name the file. One of them is required. */
const FILE_INPUTS = ['file_path', 'notebook_path']
/** Any other key that may name a file: all such paths are checked, in case a tool uses another one than the card shows. */
const PATH_KEY =
  /(?:paths?|files?|file_?names?|folders?|dirs?|director(?:y|ies)|ur[il]s?|dest|destinations?|targets?|cwd)$/i

/** Where this tool call would write. Without `readLink`, no edit is inside. */
export async function editTarget(
  { toolName, input }: { toolName: string; input: Json },
  scope: EditScope,
  readLink: ReadLink | undefined,
): Promise<EditTarget> {
  if (!EDIT_TOOLS.has(toolName)) return 'none'
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return 'outside'
  if (!FILE_INPUTS.some((name) => Object.hasOwn(input, name))) return 'outside'
  const paths = pathsIn(input)
  return paths.every((path) => typeof path === 'string') ? targetOfPaths(paths, scope, readLink) : 'outside'
}

/** The values of keys that name a path, at any depth. */
function pathsIn(input: Json): Json[] {
  const paths: Json[] = []
  const rest: Json[] = [input]
  while (rest.length > 0) {
    const value = rest.pop()
    if (typeof value !== 'object' || value === null) continue
    for (const [key, inner] of Object.entries(value)) (PATH_KEY.test(key) ? paths : rest).push(inner)
  }
  return paths
}

/** The same for an agent that names the paths it would write. All of them must be inside. */
export async function targetOfPaths(
  paths: readonly string[],
  { cwd, realCwd, plans = null, realPlans, protectedPaths = [] }: EditScope,
  readLink: ReadLink | undefined,
): Promise<EditTarget> {
  if (paths.length === 0 || !readLink) return 'outside'
  const areIn = async (folder: Folder) => {
    for (const path of paths) if (!(await isInside(folder, path, readLink))) return false
    return true
  }
  const isProtectedIn = (names: readonly string[]) => isProtected(names, protectedPaths)
  if (plans !== null && realPlans !== null && paths.every(isAbsolute)) {
    // The plans are in the agent's settings folder, which is protected: check only the names below the plans folder.
    const isAllowed = (place: ResolvedPath, root: ResolvedPath) =>
      !isProtectedIn(place.names.slice(root.names.length))
    if (await areIn({ path: plans, realPath: realPlans, isAllowed })) return 'plan_file'
  }
  if (cwd === null || realCwd === null) return 'outside'
  const isAllowed = (place: ResolvedPath, root: ResolvedPath) =>
    !outsideWorktrees(place, root).some(isProtectedIn)
  return (await areIn({ path: cwd, realPath: realCwd, isAllowed })) ? 'inside' : 'outside'
}

interface Folder {
  path: string
  /** The path with links resolved, if that is known already. */
  realPath?: string | undefined
  /** Whether a path below the folder may be edited. */
  isAllowed: (place: ResolvedPath, root: ResolvedPath) => boolean
}

/**
 * Whether a path, with links resolved, is inside a folder and not protected. Some tools resolve `link/..` to the folder of
 * the link, others to the parent of its target: the path must be inside in both readings. A leading `~` or `$`, which a shell or a tool
 * may expand, and a URL are never inside.
 */
async function isInside(folder: Folder, path: string, readLink: ReadLink): Promise<boolean> {
  if (path === '' || /^[~$]|^[a-z][a-z\d+.-]+:\/\//i.test(path) || path.includes('\0')) return false
  if (!isAbsolute(folder.path)) return false
  try {
    const files = new PathResolver(folder.path, readLink)
    // Tools resolve relative paths from the folder as it is now.
    const now = await files.follow(files.rootOf(folder.path), folder.path)
    const root = folder.realPath === undefined ? now : files.withoutLinks(folder.realPath)
    // The root of a drive is not a project folder.
    if (root.names.length === 0) return false
    for (const reading of [path, files.withoutDots(path)]) {
      const place = await files.follow(now, reading)
      if (!isBelow(root, place) || !folder.isAllowed(place, root)) return false
    }
    return true
  } catch {
    // A path that cannot be resolved is not known to be inside.
    return false
  }
}

function isBelow(root: ResolvedPath, place: ResolvedPath): boolean {
  if (place.root !== root.root || place.names.length <= root.names.length) return false
  return root.names.every((name, index) => name === place.names[index])
}

/**
 * The parts of a path that are checked for protected names: all of it, except a `.claude/worktrees` or `.codex/worktrees` that contains
 * the session's folder.
 */
function outsideWorktrees({ names }: ResolvedPath, root: ResolvedPath): (readonly string[])[] {
  const keys = root.names.map(nameKey)
  const parts: (readonly string[])[] = []
  let start = 0
  for (let index = 0; index + 2 < keys.length; index++) {
    if (!WORKTREE_OWNERS.has(keys[index]!) || keys[index + 1] !== 'worktrees') continue
    parts.push(names.slice(start, index))
    start = index + 2
  }
  return [...parts, names.slice(start)]
}

function isProtected(names: readonly string[], more: readonly string[]): boolean {
  const keys = names.map(nameKey)
  // Windows gives long names a second, short name: `GIT~1` may be `.git`.
  if (keys.some((key) => /~\d/.test(key))) return true
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
 * A name as the most tolerant file system reads it. Some ignore case, Unicode composition, invisible characters, or trailing dots and
 * spaces, and some take the part after a colon as a stream of the same file.
 */
function nameKey(name: string): string {
  const visible = name.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '')
  return visible
    .replace(/(?!^):.*$/s, '')
    .replace(/[. ]+$/, '')
    .toLowerCase()
}
