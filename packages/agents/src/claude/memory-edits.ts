import { isAbsolute, relative, resolve } from 'node:path'
import type { HookMatcher, PreToolUseHook } from './sdk.js'

const ask = {
  hookSpecificOutput: {
    hookEventName: 'PreToolUse',
    permissionDecision: 'ask',
    permissionDecisionReason: 'Claude reads the files of its memory as instructions in later sessions.',
  },
} as const

/**
 * Makes Claude Code ask before it edits below `folder`, where it keeps its memory. By itself it writes there without
 * asking.
 */
export function memoryEdits(folder: string): HookMatcher {
  const hook: PreToolUseHook = async ({ tool_input: input }) => {
    const path = input instanceof Object && 'file_path' in input ? input.file_path : null
    return typeof path === 'string' && isBelow(folder, path) ? ask : {}
  }
  return { matcher: 'Write|Edit|MultiEdit', hooks: [hook] }
}

function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, resolve(path))
  return !way.startsWith('..') && !isAbsolute(way)
}
