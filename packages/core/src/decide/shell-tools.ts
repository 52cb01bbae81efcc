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
