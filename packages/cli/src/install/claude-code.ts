import { AskbackError } from '@askback/protocol/errors'
import { mkdirSync, readFileSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

type Settings = Record<string, unknown>

interface Group {
  matcher?: string
  hooks: { type: string; command?: string; [key: string]: unknown }[]
}

/** Longer than any deadline: the interaction's own ends it. */
const LONGEST_SECONDS = 7 * 24 * 3600
const OURS = /askback.* hook claude-code(?: |$)/

/** Claude Code waits for each: one that runs beside it would be cut off when it ends. */
const EVENTS = {
  PreToolUse: { timeout: 10 },
  PermissionRequest: { timeout: LONGEST_SECONDS },
  PostToolUse: { timeout: 10 },
  PostToolUseFailure: { timeout: 10 },
} as const

export function settingsFile(project: boolean, env: NodeJS.ProcessEnv): string {
  if (project) return join(process.cwd(), '.claude', 'settings.local.json')
  return join(env['CLAUDE_CONFIG_DIR'] || join(homedir(), '.claude'), 'settings.json')
}

export function readSettings(path: string): Settings {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {}
    throw new AskbackError('unavailable', `The settings ${path} cannot be read.`, { cause: error })
  }
  try {
    const settings: unknown = JSON.parse(text.trim() === '' ? '{}' : text)
    if (isRecord(settings) && isRecord(settings['hooks'] ?? {})) return settings
  } catch {
    // Said below.
  }
  throw new AskbackError('invalid_request', `The settings ${path} are damaged, so nothing was changed.`)
}

/** What is added, as it stands in the file. */
export function hookGroups(command: string): Record<string, Group[]> {
  return Object.fromEntries(
    Object.entries(EVENTS).map(([event, how]) => [
      event,
      [{ matcher: '*', hooks: [{ type: 'command', command, ...how }] }],
    ]),
  )
}

export function withHooks(settings: Settings, groups: Record<string, Group[]>): Settings {
  const without = withoutHooks(settings)
  const hooks: Record<string, unknown> = { ...(without['hooks'] as Settings | undefined) }
  for (const [event, added] of Object.entries(groups)) {
    const there = hooks[event]
    hooks[event] = [...(Array.isArray(there) ? (there as unknown[]) : []), ...added]
  }
  return { ...without, hooks }
}

/** Just ours, and what would be left empty by that. */
export function withoutHooks(settings: Settings): Settings {
  if (!isRecord(settings['hooks'])) return settings
  const hooks: Record<string, unknown> = {}
  for (const [event, groups] of Object.entries(settings['hooks'])) {
    const rest = Array.isArray(groups) ? groups.flatMap(withoutOurs) : groups
    if (!Array.isArray(rest) || rest.length > 0 || (groups as unknown[]).length === 0) hooks[event] = rest
  }
  const { hooks: _, ...others } = settings
  const isEmpty = Object.keys(hooks).length === 0 && hasOurs(settings)
  return isEmpty ? others : replaced(settings, hooks)
}

export function hasOurs(settings: Settings): boolean {
  if (!isRecord(settings['hooks'])) return false
  return Object.values(settings['hooks']).some(
    (groups) => Array.isArray(groups) && groups.some((group) => oursIn(group).length > 0),
  )
}

export function ourCommands(settings: Settings): string[] {
  const groups = Object.values(isRecord(settings['hooks']) ? settings['hooks'] : {}).flatMap((each) =>
    Array.isArray(each) ? (each as unknown[]) : [],
  )
  return groups.flatMap(oursIn).map((hook) => (hook as { command: string }).command)
}

/** At once or not at all, and where a link leads. */
export function writeSettings(path: string, settings: Settings): void {
  try {
    mkdirSync(dirname(path), { recursive: true })
    const target = realPath(path)
    const draft = `${target}.${process.pid}`
    writeFileSync(draft, `${JSON.stringify(settings, null, 2)}\n`, { mode: modeOf(target) })
    renameSync(draft, target)
  } catch (error) {
    throw new AskbackError('unavailable', `The settings ${path} cannot be written.`, { cause: error })
  }
}

function withoutOurs(group: unknown): unknown[] {
  const ours = oursIn(group)
  if (ours.length === 0) return [group]
  const rest = (group as Group).hooks.filter((hook) => !ours.includes(hook))
  return rest.length === 0 ? [] : [{ ...(group as Group), hooks: rest }]
}

function oursIn(group: unknown): unknown[] {
  const hooks = isRecord(group) ? group['hooks'] : undefined
  if (!Array.isArray(hooks)) return []
  return hooks.filter((hook) => {
    const command: unknown = isRecord(hook) ? hook['command'] : undefined
    return typeof command === 'string' && OURS.test(command)
  })
}

/** In its place among the others. */
function replaced(settings: Settings, hooks: Settings): Settings {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [name, name === 'hooks' ? hooks : value]),
  )
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

function modeOf(path: string): number {
  try {
    return statSync(path).mode & 0o777
  } catch {
    return 0o600
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
