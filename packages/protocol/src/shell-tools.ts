import type { Json } from './json.js'

const SHELL_TOOLS: ReadonlySet<string> = new Set([
  'bash',
  'shell',
  'terminal',
  'shell_command',
  'exec_command',
  'local_shell',
  'command_execution',
])

/** Whether a tool of this name runs a command line, in the agents that we know. */
export function isShellTool(toolName: string): boolean {
  return SHELL_TOOLS.has(toolName.toLowerCase())
}

const COMMAND_FIELDS = ['command', 'cmd']

/**
 * The part of an input that a stored rule compares. A shell tool's `description` is worded anew by the model each time and
 * does not change what runs, so it is left out, but only beside a command: without one nobody knows what the tool does with
 * it. Returns the same object if nothing is left out.
 */
export function whatRuns(toolName: string, input: Json): Json {
  if (!isShellTool(toolName) || typeof input !== 'object' || input === null || Array.isArray(input))
    return input
  if (!Object.hasOwn(input, 'description') || typeof input['description'] !== 'string') return input
  if (!COMMAND_FIELDS.some((name) => Object.hasOwn(input, name) && isCommand(input[name]))) return input
  const { description: _, ...rest } = input
  return rest
}

function isCommand(value: Json | undefined): boolean {
  return typeof value === 'string' ? value.trim() !== '' : Array.isArray(value) && value.length > 0
}
