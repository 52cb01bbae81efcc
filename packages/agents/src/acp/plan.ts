import { readFile, stat } from 'node:fs/promises'
import type { AcpToolCall } from './protocol.js'

/** A plan that an agent hands in by asking to leave its plan mode. */
export interface SubmittedPlan {
  text: string
  /** The agent's own file of the plan, if it submits only a path. */
  path?: string
}

/** Limit of a plan's file, in bytes. A longer one is not read: the person decides about the path, as the agent asked. */
const MAX_PLAN_BYTES = 512 * 1024

/** Gemini CLI names only the file of its plan, in the title of a call of no particular kind. */
const GEMINI_PLAN_TITLE = /^Requesting plan approval for: (\/.+\.md)$/u
const GEMINI_PLAN_CALL = /^exit_plan_mode_/u

/** The plan that this call submits; `null` if it submits none. */
export async function planOf(
  call: AcpToolCall,
  programName: string | undefined,
): Promise<SubmittedPlan | null> {
  const text = planInInput(call)
  if (text !== null) return { text }
  const path = programName === 'gemini-cli' ? geminiPlanPath(call) : null
  if (path === null) return null
  const content = await readPlan(path)
  return content === null ? null : { text: content, path }
}

function planInInput({ kind, rawInput }: AcpToolCall): string | null {
  if (kind !== 'switch_mode' || typeof rawInput !== 'object' || rawInput === null) return null
  const plan = 'plan' in rawInput ? rawInput.plan : null
  return typeof plan === 'string' && plan.trim() !== '' ? plan : null
}

function geminiPlanPath({ toolCallId, title }: AcpToolCall): string | null {
  if (!GEMINI_PLAN_CALL.test(toolCallId)) return null
  return GEMINI_PLAN_TITLE.exec(title ?? '')?.[1] ?? null
}

async function readPlan(path: string): Promise<string | null> {
  try {
    const file = await stat(path)
    if (!file.isFile() || file.size > MAX_PLAN_BYTES) return null
    const text = await readFile(path, 'utf8')
    return text.trim() === '' ? null : text
  } catch {
    return null
  }
}
