import * as z from 'zod'
import { json, type Json } from './json.js'

/** What an approval asks: may this tool run with exactly this `input`? Everything else is shown as the agent's words. */
export const approvalRequest = z.object({
  input: json,
  title: z.string().optional(),
  description: z.string().optional(),
  reason: z.string().optional(),
  blockedPath: z.string().optional(),
  suggestions: json.optional(),
  preview: json.optional(),
})

/** For how long an approval holds. `session` and `always` store a rule that approves the same call later. */
export const approvalScope = z.enum(['once', 'session', 'always'])

/** The decision about a tool call. */
export const approvalAnswer = z.strictObject({
  decision: z.enum(['approve', 'deny']),
  scope: approvalScope.optional(),
  updatedInput: json.optional(),
  message: z.string().optional(),
})

const filePreview = z.object({
  diffs: z.array(z.object({ path: z.string(), oldText: z.string(), newText: z.string() })).min(1),
})

/** What an agent says a call would do to one file. */
export type PreviewedChange = z.infer<typeof filePreview>['diffs'][number]

/** The changes to files in the `preview` of an approval; `null` if it has another form, and is to be shown as JSON. */
export function changesInPreview(preview: Json): PreviewedChange[] | null {
  const parsed = filePreview.safeParse(preview)
  return parsed.success ? parsed.data.diffs : null
}

/**
 * The name of a field of the input, as a card shows it. The agent chooses it, so an unusual one is quoted: then it is visible,
 * and cannot imitate a label of Askback.
 *
 * @internal
 */
export function shownFieldName(name: string): string {
  return /^[\w$.-]{1,64}$/.test(name) ? name : JSON.stringify(name)
}

export type ApprovalScope = z.infer<typeof approvalScope>
export type ApprovalRequest = z.infer<typeof approvalRequest>
export type ApprovalAnswer = z.infer<typeof approvalAnswer>

/** The names, in lower case, under which agents offer a tool that runs a command line. */
const SHELL_TOOLS: ReadonlySet<string> = new Set([
  'bash',
  'shell',
  'terminal',
  'shell_command',
  'exec_command',
  'local_shell',
  'command_execution',
])
const COMMAND_FIELDS = ['command', 'cmd']

/** Whether a tool of this name runs a command line, in the agents that we know. */
export function isShellTool(toolName: string): boolean {
  return SHELL_TOOLS.has(toolName.toLowerCase())
}

/**
 * The part of an input that a stored rule compares. The model words the `description` of a shell command differently each
 * time, and it does not change what runs, so it is left out. It stays if there is no command beside it, because then nobody
 * knows what the tool does with it. Returns the same object if nothing is left out.
 *
 * @internal
 */
export function comparedInput(toolName: string, input: Json): Json {
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
