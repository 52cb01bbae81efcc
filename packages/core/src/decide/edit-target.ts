import type { Json } from '@askback/protocol'
import { Files, isAbsolute, type Place, type ReadLink } from './follow-path.js'
import type { EditTarget } from './permissions.js'

// The one place that decides what counts as an edit inside a session's folder, for adapters, HTTP, MCP and hooks alike. It works
// on names alone, and asks its host for nothing but where a link leads.

export interface EditScope {
  cwd: string | null
  /**
   * Where `cwd` led when the session was made: the agent may have replaced the folder by a link since, so edits must lie in
   * here. `null` if it led nowhere, and no edit is inside. Without it (logs from before the field) `cwd` is followed now.
   */
  realCwd?: string | null | undefined
  /** The folder of the agent's plans, if it has one. */
  plans?: string | null
  /** As `realCwd`, for `plans`. */
  realPlans?: string | null | undefined
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

/** The agents that make worktrees in their own settings folder. */
const WORKTREE_OWNERS: ReadonlySet<string> = new Set(['.claude', '.codex'])

const EDIT_TOOLS: ReadonlySet<string> = new Set(['Write', 'Edit', 'MultiEdit', 'NotebookEdit'])
/** The inputs of these tools that name the file. One of them must be there. */
const FILE_INPUTS = ['file_path', 'notebook_path']
/** Any other input that may name a file, for a tool that goes by another name than its card shows. */
const PATH_KEY =
  /(?:paths?|files?|file_?names?|folders?|dirs?|director(?:y|ies)|ur[il]s?|dest|destinations?|targets?|cwd)$/i

/** What a tool of this name and input would write. Without a host's file system no edit is inside. */
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

/** What is given under keys that name a path, at any depth. */
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

/** The same for an agent that names what it would write: all of it must be inside. */
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
    // The agent's own settings folder holds its plans: only what lies below them counts.
    const isAllowed = (place: Place, root: Place) => !isProtectedIn(place.names.slice(root.names.length))
    if (await areIn({ path: plans, realPath: realPlans, isAllowed })) return 'plan_file'
  }
  if (cwd === null || realCwd === null) return 'outside'
  const isAllowed = (place: Place, root: Place) => !outsideWorktrees(place, root).some(isProtectedIn)
  return (await areIn({ path: cwd, realPath: realCwd, isAllowed })) ? 'inside' : 'outside'
}

interface Folder {
  path: string
  /** Where it leads, if that is settled. */
  realPath?: string | undefined
  /** Whether edits may be made at a place below the folder's root. */
  isAllowed: (place: Place, root: Place) => boolean
}

/**
 * Whether a path, links followed, lies inside a folder and in no protected place; what does not exist yet lies where it
 * would be made. Some tools take `link/..` for the folder that holds the link, others for the one above where it leads: it must
 * be inside for both. A shell or a tool may expand a leading `~` or `$`, so that these lead anywhere, as a URL does.
 */
async function isInside(folder: Folder, path: string, readLink: ReadLink): Promise<boolean> {
  if (path === '' || /^[~$]|^[a-z][a-z\d+.-]+:\/\//i.test(path) || path.includes('\0')) return false
  if (!isAbsolute(folder.path)) return false
  try {
    const files = new Files(folder.path, readLink)
    // Tools start from the folder as it is now.
    const now = await files.follow(files.rootOf(folder.path), folder.path)
    const root = folder.realPath === undefined ? now : files.placeOf(folder.realPath)
    // A whole drive is no project.
    if (root.names.length === 0) return false
    for (const reading of [path, files.withoutDots(path)]) {
      const place = await files.follow(now, reading)
      if (!isBelow(root, place) || !folder.isAllowed(place, root)) return false
    }
    return true
  } catch {
    // A path that cannot be followed leads nowhere that we know.
    return false
  }
}

function isBelow(root: Place, place: Place): boolean {
  if (place.root !== root.root || place.names.length <= root.names.length) return false
  return root.names.every((name, index) => name === place.names[index])
}

/**
 * The parts of a place in which protected names count: all of it, but for the `.claude/worktrees` or `.codex/worktrees` in which
 * an agent has put the session's folder.
 */
function outsideWorktrees({ names }: Place, root: Place): (readonly string[])[] {
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
  // Windows gives a long name a short one too: `GIT~1` may be `.git`.
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
