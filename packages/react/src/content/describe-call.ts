import type { Json } from '@askback/protocol'
import type { Label, Translate } from '../labels.js'

export interface CallDescription {
  /** What the call does, in words of this page. */
  verb: string
  /** What it does it to, in words of the agent. */
  object: string | null
  icon: 'command' | 'edit' | 'file' | 'search' | 'web' | 'agent' | 'tool'
}

/** Describes a tool call. The two texts stay separate, so that the agent's can be marked as such. */
export function describeCall(toolName: string, input: Json, t: Translate): CallDescription {
  const { verb, object, icon } = describe(toolName, input, t)
  return { verb: t(verb), object, icon }
}

type LabelledCall = Omit<CallDescription, 'verb'> & { verb: Label }

function describe(toolName: string, input: Json, t: Translate): LabelledCall {
  const command = commandIn(input)
  if (command !== null) return { verb: 'Run', object: command, icon: 'command' }
  const path = textOf(input, 'file_path') ?? textOf(input, 'notebook_path') ?? textOf(input, 'path') ?? null
  const known = knownTools.get(toolName)
  if (known) return known(input, path, t)
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(toolName) ?? []
  if (server !== undefined && tool !== undefined) {
    return { verb: 'Use', object: t('{tool} of {server}', { tool, server }), icon: 'tool' }
  }
  return { verb: 'Use', object: toolName, icon: 'tool' }
}

type DescribeTool = (input: Json, path: string | null, t: Translate) => LabelledCall

const edit: DescribeTool = (_, path) => ({ verb: 'Edit', object: path, icon: 'edit' })

const knownTools = new Map<string, DescribeTool>([
  ['Edit', edit],
  ['MultiEdit', edit],
  ['NotebookEdit', edit],
  ['apply_patch', (input, _, t) => ({ verb: 'Edit', object: patchedFiles(input, t), icon: 'edit' })],
  ['Write', (_, path) => ({ verb: 'Write', object: path, icon: 'edit' })],
  ['Read', (_, path) => ({ verb: 'Read', object: path, icon: 'file' })],
  ['LS', (_, path) => ({ verb: 'List', object: path, icon: 'file' })],
  ['Glob', (input) => ({ verb: 'Find', object: textOf(input, 'pattern') ?? null, icon: 'search' })],
  ['Grep', (input) => ({ verb: 'Search for', object: textOf(input, 'pattern') ?? null, icon: 'search' })],
  ['WebFetch', (input) => ({ verb: 'Fetch', object: textOf(input, 'url') ?? null, icon: 'web' })],
  ['WebSearch', (input) => ({ verb: 'Search for', object: textOf(input, 'query') ?? null, icon: 'web' })],
  ['Task', (input) => ({ verb: 'Delegate', object: textOf(input, 'description') ?? null, icon: 'agent' })],
])

function patchedFiles(input: Json, t: Translate): string | null {
  const changes = fieldOf(input, 'changes')
  if (!Array.isArray(changes)) return null
  const [first] = changes
  return changes.length === 1 && first !== undefined
    ? (textOf(first, 'path') ?? null)
    : t('{count} files', { count: changes.length })
}

/** The command in the input of a shell tool; `null` if there is none. */
export function commandIn(input: Json): string | null {
  const command = fieldOf(input, 'command')
  return typeof command === 'string' ? command : null
}

export function fieldOf(input: Json, name: string): Json | undefined {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input)
  return isObject && Object.hasOwn(input, name) ? input[name] : undefined
}

export function textOf(input: Json, name: string): string | undefined {
  const value = fieldOf(input, name)
  return typeof value === 'string' ? value : undefined
}
