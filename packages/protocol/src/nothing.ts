import type { ToolCall } from './state.js'

// Most sessions have none of these, and share them: one that has gets its own.
export const NO_TOOL_CALLS: ReadonlyMap<string, ToolCall> = new Map()
export const NO_IDS: ReadonlySet<string> = new Set()
