/** The requests of a Claude Code that somebody else has started, as its hooks and its permission prompt tool send them. */
import { readFileSync } from 'node:fs'
import type { Interaction, Json, OpenBody, PlanDecision, PlanReviewAnswer } from '@askback/protocol'
import { hasAnswer } from '@askback/protocol/guards'
import { isInDoubt } from '@askback/protocol/in-doubt'
import { IN_DOUBT_MESSAGE, refusalMessage } from '../session/model-messages.js'
import { answeredInput, type AnsweredInput } from './question.js'

type ToolInput = Record<string, Json>

/**
 * A tool call that Claude Code asks about.
 * @internal
 */
export interface ClaudeToolUse {
  toolName: string
  input: ToolInput
}

/**
 * What Claude Code is to do with the call.
 * @internal
 */
export type ToolUseDecision =
  | { behavior: 'allow'; updatedInput: Json | AnsweredInput; updatedPermissions?: [SetModeUpdate] }
  | { behavior: 'deny'; message: string }

interface SetModeUpdate {
  type: 'setMode'
  mode: 'acceptEdits' | 'default'
  destination: 'session'
}

/** A decision for a fresh context has no effect: this Claude Code can only continue in the context that it has. */
const MODES: Record<Exclude<PlanDecision, 'adjust'>, SetModeUpdate['mode']> = {
  clean_edit: 'acceptEdits',
  edit: 'acceptEdits',
  default: 'default',
}

/**
 * The request with which a person is asked about the call.
 * @internal
 */
export function requestForToolUse({
  toolName,
  input,
}: ClaudeToolUse): Pick<OpenBody, 'kind' | 'toolName' | 'request'> {
  switch (toolName) {
    case 'AskUserQuestion':
      return { kind: 'question', toolName, request: { questions: input['questions'] ?? null } }
    case 'ExitPlanMode':
      return { kind: 'plan_review', toolName, request: planIn(input) }
    default:
      return { kind: 'approval', toolName, request: { input } }
  }
}

/**
 * Translates a settled interaction for Claude Code; `null` if nobody has decided.
 * @internal
 */
export function decisionForToolUse({ input }: ClaudeToolUse, item: Interaction): ToolUseDecision | null {
  if (isInDoubt(item)) return { behavior: 'deny', message: IN_DOUBT_MESSAGE }
  const { settlement, message } = item
  switch (settlement) {
    case 'answered':
      return hasAnswer(item, 'question')
        ? { behavior: 'allow', updatedInput: answeredInput(input, item.answer) }
        : null
    case 'approved':
      return hasAnswer(item, 'plan_review') ? planApproved(input, item.answer) : approved(input, item)
    case 'denied':
      return { behavior: 'deny', message: refusalMessage({ settlement, message }, 'this call') }
    default:
      return null
  }
}

function approved(input: ToolInput, item: Interaction): ToolUseDecision {
  const updatedInput = hasAnswer(item, 'approval') ? item.answer.updatedInput : undefined
  return { behavior: 'allow', updatedInput: updatedInput === undefined ? input : updatedInput }
}

function planApproved(input: ToolInput, { decision, updatedPlan }: PlanReviewAnswer): ToolUseDecision {
  const mode = decision === 'adjust' ? 'default' : MODES[decision]
  return {
    behavior: 'allow',
    updatedInput: updatedPlan === undefined ? input : { ...input, plan: updatedPlan },
    updatedPermissions: [{ type: 'setMode', mode, destination: 'session' }],
  }
}

/** The call may contain only the path of the plan file. */
function planIn({ plan, planFilePath }: ToolInput): { plan: string; planFilePath?: string } {
  const path = typeof planFilePath === 'string' ? planFilePath : undefined
  const text = typeof plan === 'string' && plan.trim() !== '' ? plan : readPlanFile(path)
  return { plan: text, ...(path !== undefined && { planFilePath: path }) }
}

function readPlanFile(path: string | undefined): string {
  try {
    return path === undefined ? '' : readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
