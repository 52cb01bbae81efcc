import { AskbackError } from '@askback/protocol/errors'
import { mkdirSync, readFileSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { added, removed, type Path } from './json-text.js'

type Settings = Record<string, unknown>

interface Group {
  matcher?: string
  hooks: { type: string; command?: string; [key: string]: unknown }[]
}

/** Longer than any deadline: the interaction's own ends it. */
const LONGEST_SECONDS = 7 * 24 * 3600
const EMPTY = '{}\n'
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

export interface SettingsFile {
  /** As it is written; all that is not ours stays so. */
  text: string
  settings: Settings
}

export function readSettings(path: string): SettingsFile {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      return { text: EMPTY, settings: {} }
    throw new AskbackError('unavailable', `The settings ${path} cannot be read.`, { cause: error })
  }
  if (text.trim() === '') return { text: EMPTY, settings: {} }
  try {
    const settings: unknown = JSON.parse(text)
    if (isRecord(settings) && isRecord(settings['hooks'] ?? {})) return { text, settings }
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

/** The same text if that is all there already. */
export function withHooks({ text, settings }: SettingsFile, groups: Record<string, Group[]>): string {
  if (isThere(settings, groups)) return text
  let next = withoutHooks({ text, settings })
  for (const [event, [group]] of Object.entries(groups)) {
    const { hooks } = JSON.parse(next) as { hooks?: Settings }
    if (!hooks) next = added(next, [], 'hooks', { [event]: [group] })
    else if (Array.isArray(hooks[event])) next = added(next, ['hooks', event], null, group)
    else if (hooks[event] === undefined) next = added(next, ['hooks'], event, [group])
    else
      throw new AskbackError(
        'invalid_request',
        `The settings have hooks for ${event} that are no list, so nothing was changed.`,
      )
  }
  return next
}

/** Without just ours, and what would be left empty by that. */
export function withoutHooks({ text, settings }: SettingsFile): string {
  const path = pathOfOurs(settings)
  if (!path) return text
  const next = removed(text, path)
  return withoutHooks({ text: next, settings: JSON.parse(next) as Settings })
}

export function hasOurs(settings: Settings): boolean {
  return ourCommands(settings).length > 0
}

export function ourCommands(settings: Settings): string[] {
  const groups = Object.values(isRecord(settings['hooks']) ? settings['hooks'] : {}).flatMap((each) =>
    Array.isArray(each) ? (each as unknown[]) : [],
  )
  return groups.flatMap(oursIn).map((hook) => (hook as { command: string }).command)
}

/** At once or not at all, and where a link leads. */
export function writeSettings(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true })
    const target = realPath(path)
    const draft = `${target}.${process.pid}`
    writeFileSync(draft, text, { mode: modeOf(target) })
    renameSync(draft, target)
  } catch (error) {
    throw new AskbackError('unavailable', `The settings ${path} cannot be written.`, { cause: error })
  }
}

function isThere(settings: Settings, groups: Record<string, Group[]>): boolean {
  const commands = ourCommands(settings)
  const hooks = (settings['hooks'] ?? {}) as Settings
  return (
    commands.length === Object.keys(groups).length &&
    Object.entries(groups).every(
      ([event, [group]]) =>
        Array.isArray(hooks[event]) &&
        hooks[event].some((each: unknown) => JSON.stringify(each) === JSON.stringify(group)),
    )
  )
}

/** Of the first hook of ours, or of what holds nothing else. */
function pathOfOurs(settings: Settings): Path | null {
  const hooks = settings['hooks']
  if (!isRecord(hooks)) return null
  for (const [event, groups] of Object.entries(hooks)) {
    if (!Array.isArray(groups)) continue
    for (const [index, group] of groups.entries()) {
      const [ours] = oursIn(group)
      if (ours === undefined) continue
      const all = (group as Group).hooks
      if (all.length > 1) return ['hooks', event, index, 'hooks', all.indexOf(ours as Group['hooks'][number])]
      if (groups.length > 1) return ['hooks', event, index]
      return Object.keys(hooks).length > 1 ? ['hooks', event] : ['hooks']
    }
  }
  return null
}

function oursIn(group: unknown): unknown[] {
  const hooks = isRecord(group) ? group['hooks'] : undefined
  if (!Array.isArray(hooks)) return []
  return hooks.filter((hook) => {
    const command: unknown = isRecord(hook) ? hook['command'] : undefined
    return typeof command === 'string' && OURS.test(command)
  })
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
