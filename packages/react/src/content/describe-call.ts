import type { Json } from '@askback/protocol'
import { commandIn, fieldOf, textOf } from './command.js'

export interface CallDescription {
  /** Ours: what will happen. */
  words: string
  /** The agent's: what it happens to. */
  object: string | null
  icon: 'command' | 'edit' | 'file' | 'search' | 'web' | 'agent' | 'tool'
}

/** What a call does, in words. Words and object stay apart, so that the agent's part can be shown as such. */
export function describeCall(toolName: string, input: Json): CallDescription {
  const command = commandIn(input)
  if (command !== null) return { words: 'Run', object: command, icon: 'command' }
  const path = textOf(input, 'file_path') ?? textOf(input, 'notebook_path') ?? textOf(input, 'path') ?? null
  const known = knownTools.get(toolName)
  if (known) return known(input, path)
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(toolName) ?? []
  if (server !== undefined && tool !== undefined) {
    return { words: 'Use', object: `${tool} of ${server}`, icon: 'tool' }
  }
  return { words: 'Use', object: toolName, icon: 'tool' }
}

type Describe = (input: Json, path: string | null) => CallDescription

const edit: Describe = (_, path) => ({ words: 'Edit', object: path, icon: 'edit' })

const knownTools = new Map<string, Describe>([
  ['Edit', edit],
  ['MultiEdit', edit],
  ['NotebookEdit', edit],
  ['apply_patch', (input) => ({ words: 'Edit', object: patchedFiles(input), icon: 'edit' })],
  ['Write', (_, path) => ({ words: 'Write', object: path, icon: 'edit' })],
  ['Read', (_, path) => ({ words: 'Read', object: path, icon: 'file' })],
  ['LS', (_, path) => ({ words: 'List', object: path, icon: 'file' })],
  ['Glob', (input) => ({ words: 'Find', object: textOf(input, 'pattern') ?? null, icon: 'search' })],
  ['Grep', (input) => ({ words: 'Search for', object: textOf(input, 'pattern') ?? null, icon: 'search' })],
  ['WebFetch', (input) => ({ words: 'Fetch', object: textOf(input, 'url') ?? null, icon: 'web' })],
  ['WebSearch', (input) => ({ words: 'Search for', object: textOf(input, 'query') ?? null, icon: 'web' })],
  ['Task', (input) => ({ words: 'Delegate', object: textOf(input, 'description') ?? null, icon: 'agent' })],
])

function patchedFiles(input: Json): string | null {
  const changes = fieldOf(input, 'changes')
  if (!Array.isArray(changes)) return null
  const [first] = changes
  return changes.length === 1 && first !== undefined
    ? (textOf(first, 'path') ?? null)
    : `${changes.length} files`
}
