import { AskbackError } from '@askback/protocol/errors'
import { isRecord } from '@askback/protocol/guards'
import { findNodeAtLocation, parseTree, type Node } from 'jsonc-parser'
import { mkdirSync, readFileSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { homeFolder } from '../data-folder.js'

/*
 * The hooks of Askback in the settings file of Claude Code. The file is edited as text, because a person may have written it by
 * hand: everything that is not ours stays as it is, to the byte.
 */

type Settings = Record<string, unknown>
type JsonPath = (string | number)[]

interface HookGroup {
  matcher?: string
  hooks: { type: string; command?: string; [key: string]: unknown }[]
}

/** Longer than any deadline of an interaction, which ends the wait before. */
const MAX_WAIT_SECONDS = 7 * 24 * 3600
const EMPTY_FILE = '{}\n'
const OUR_COMMAND = /askback.* hook claude-code(?: |$)/

/**
 * Timeouts in seconds. Claude Code waits for each of these hooks; one that runs in the background would be killed when Claude Code
 * ends.
 */
const HOOK_EVENTS = {
  PreToolUse: { timeout: 10 },
  PermissionRequest: { timeout: MAX_WAIT_SECONDS },
  PostToolUse: { timeout: 10 },
  PostToolUseFailure: { timeout: 10 },
} as const

export function settingsFile(project: boolean, env: NodeJS.ProcessEnv): string {
  if (project) return join(process.cwd(), '.claude', 'settings.local.json')
  return join(env['CLAUDE_CONFIG_DIR'] || join(homeFolder(), '.claude'), 'settings.json')
}

export interface SettingsFile {
  /** The text of the file, which is what gets edited. */
  text: string
  settings: Settings
}

export function readSettings(path: string): SettingsFile {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      return { text: EMPTY_FILE, settings: {} }
    throw new AskbackError('unavailable', `The settings ${path} cannot be read.`, { cause: error })
  }
  if (text.trim() === '') return { text: EMPTY_FILE, settings: {} }
  try {
    const settings: unknown = JSON.parse(text)
    if (isRecord(settings) && isRecord(settings['hooks'] ?? {})) return { text, settings }
  } catch {
    // Falls through to the error below.
  }
  throw new AskbackError('invalid_request', `The settings ${path} are damaged, so nothing was changed.`)
}

/** The hooks to add, in the format of the settings. */
export function hookGroups(command: string): Record<string, HookGroup[]> {
  return Object.fromEntries(
    Object.entries(HOOK_EVENTS).map(([event, how]) => [
      event,
      [{ matcher: '*', hooks: [{ type: 'command', command, ...how }] }],
    ]),
  )
}

/** The text of the file with our hooks, which replace older ones. Unchanged if exactly these hooks are there. */
export function withHooks({ text, settings }: SettingsFile, groups: Record<string, HookGroup[]>): string {
  if (areInstalled(settings, groups)) return text
  let next = withoutHooks({ text, settings })
  for (const [event, [group]] of Object.entries(groups)) {
    const { hooks } = parseSettings(next)
    if (!isRecord(hooks)) next = addJson(next, [], 'hooks', { [event]: [group] })
    else if (Array.isArray(hooks[event])) next = addJson(next, ['hooks', event], null, group)
    else if (hooks[event] === undefined) next = addJson(next, ['hooks'], event, [group])
    else
      throw new AskbackError(
        'invalid_request',
        `The settings have hooks for ${event} that are no list, so nothing was changed.`,
      )
  }
  return next
}

/** The text of the file without our hooks, and without the lists and objects that this leaves empty. */
export function withoutHooks({ text, settings }: SettingsFile): string {
  const path = pathOfOurHook(settings)
  if (!path) return text
  const next = removeJson(text, path)
  return withoutHooks({ text: next, settings: parseSettings(next) })
}

export function hasOurHooks(settings: Settings): boolean {
  return ourCommands(settings).length > 0
}

export function ourCommands(settings: Settings): string[] {
  const groups = Object.values(isRecord(settings['hooks']) ? settings['hooks'] : {}).flatMap((each) =>
    Array.isArray(each) ? (each as unknown[]) : [],
  )
  return groups
    .flatMap(hooksIn)
    .filter(isOurHook)
    .map(({ command }) => command)
}

/** Replaces the file atomically. If it is a symbolic link, its target is replaced. */
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

function areInstalled(settings: Settings, groups: Record<string, HookGroup[]>): boolean {
  const commands = ourCommands(settings)
  const hooks = isRecord(settings['hooks']) ? settings['hooks'] : {}
  return (
    commands.length === Object.keys(groups).length &&
    Object.entries(groups).every(
      ([event, [group]]) =>
        Array.isArray(hooks[event]) &&
        hooks[event].some((each: unknown) => JSON.stringify(each) === JSON.stringify(group)),
    )
  )
}

/** The path of our first hook, or of the list or object around it that contains nothing else. */
function pathOfOurHook(settings: Settings): JsonPath | null {
  const hooks = settings['hooks']
  if (!isRecord(hooks)) return null
  for (const [event, groups] of Object.entries(hooks)) {
    if (!Array.isArray(groups)) continue
    for (const [index, group] of groups.entries()) {
      const all = hooksIn(group)
      const ours = all.findIndex(isOurHook)
      if (ours === -1) continue
      if (all.length > 1) return ['hooks', event, index, 'hooks', ours]
      if (groups.length > 1) return ['hooks', event, index]
      return Object.keys(hooks).length > 1 ? ['hooks', event] : ['hooks']
    }
  }
  return null
}

function hooksIn(group: unknown): unknown[] {
  const hooks = isRecord(group) ? group['hooks'] : undefined
  return Array.isArray(hooks) ? (hooks as unknown[]) : []
}

function isOurHook(hook: unknown): hook is { command: string } {
  const command = isRecord(hook) ? hook['command'] : undefined
  return typeof command === 'string' && OUR_COMMAND.test(command)
}

/** For the text of settings that were read before, and edited here: they are an object. */
function parseSettings(text: string): Settings {
  const settings: unknown = JSON.parse(text)
  return isRecord(settings) ? settings : {}
}

/** Adds a member to an object, or an item to the end of a list, with the indentation and line ends of the text. */
function addJson(text: string, path: JsonPath, key: string | null, value: unknown): string {
  const { node, children, root } = nodeAt(text, path)
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const isOneLine = (root.children?.length ?? 0) > 0 && !text.trim().includes('\n')
  const unit = isOneLine ? '' : (/\n([ \t]+)\S/.exec(text)?.[1] ?? '  ')
  const newLine = (depth: number) => (isOneLine ? '' : `${eol}${unit.repeat(depth)}`)
  const depth = path.length + 1
  const written = JSON.stringify(value, null, unit).replaceAll('\n', newLine(depth))
  const name = key === null ? '' : `${JSON.stringify(key)}:${isOneLine ? '' : ' '}`
  const last = children.at(-1)
  const member = `${newLine(depth)}${name}${written}`
  return last
    ? replaceRange(text, endOf(last), endOf(last), `,${member}`)
    : replaceRange(text, node.offset + 1, endOf(node) - 1, `${member}${newLine(depth - 1)}`)
}

/** Removes a member or an item together with its comma. */
function removeJson(text: string, path: JsonPath): string {
  const { node, children } = nodeAt(text, path.slice(0, -1))
  const key = path.at(-1)!
  const index =
    typeof key === 'number' ? key : children.findIndex((child) => child.children?.[0]?.value === key)
  const child = children[index]!
  const [before, after] = [children[index - 1], children[index + 1]]
  if (before) return replaceRange(text, endOf(before), endOf(child), '')
  return after
    ? replaceRange(text, child.offset, after.offset, '')
    : replaceRange(text, node.offset + 1, endOf(node) - 1, '')
}

function nodeAt(text: string, path: JsonPath): { root: Node; node: Node; children: Node[] } {
  const root = parseTree(text)
  const node = root && findNodeAtLocation(root, path)
  if (!root || !node) throw new Error(`There is nothing at ${path.join('.')}.`)
  return { root, node, children: node.children ?? [] }
}

function endOf({ offset, length }: Node): number {
  return offset + length
}

function replaceRange(text: string, from: number, to: number, by: string): string {
  return `${text.slice(0, from)}${by}${text.slice(to)}`
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
