import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { claudeCodeHook, isDown, type HookInput } from './hook/claude-code.js'
import { WHERE } from './reach/connection.js'
import { printJson, say } from './output.js'

/** Anything but 0 and 2 lets Claude Code go on as if there were no hook; 2 would block the tool. */
const GO_ON = 1

/** `askback hook claude-code`: what Claude Code runs. Without a gateway it says nothing, so that its own prompt decides. */
export async function hook(args: string[]): Promise<number> {
  const { env } = process
  // This one was started by the gateway, which asks by itself.
  if (env['ASKBACK_SESSION']) return 0
  try {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: WHERE })
    if (positionals.join(' ') !== 'claude-code') throw new Error('Usage: askback hook claude-code.')
    const said = await claudeCodeHook(readInput(), values, env)
    if (said) printJson(said)
    return 0
  } catch (error) {
    if (isDown(error)) return 0
    say(`Askback: ${error instanceof Error ? error.message : String(error)}`)
    return GO_ON
  }
}

function readInput(): HookInput {
  let input: Partial<HookInput> | null = null
  try {
    input = JSON.parse(readFileSync(0, 'utf8')) as Partial<HookInput> | null
  } catch {
    // Said below.
  }
  if (input?.hook_event_name && input.session_id && input.cwd && input.tool_name && input.tool_input) {
    return input as HookInput
  }
  throw new Error('This is run by Claude Code, which says on stdin what it is about to do.')
}
