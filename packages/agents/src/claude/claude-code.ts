import { readFileSync } from 'node:fs'
import type {
  ApprovalAnswer,
  Interaction,
  Json,
  OpenBody,
  PlanDecision,
  PlanReviewAnswer,
  QuestionAnswer,
} from '@askback/protocol'
import { answeredInput } from './question.js'
import { isInDoubt } from '@askback/protocol/in-doubt'
import { IN_DOUBT, refusalOf } from '../session/refusal.js'

type Input = Record<string, Json>

/** What a Claude Code that somebody else has started wants to do. */
export interface ToolUse {
  toolName: string
  input: Input
}

export type Decision =
  | { behavior: 'allow'; updatedInput: Input; updatedPermissions?: [SetMode] }
  | { behavior: 'deny'; message: string }

interface SetMode {
  type: 'setMode'
  mode: 'acceptEdits' | 'default'
  destination: 'session'
}

/** A fresh context is beyond what its own process can be told: it keeps the one it has. */
const MODES: Record<Exclude<PlanDecision, 'adjust'>, SetMode['mode']> = {
  clean_edit: 'acceptEdits',
  edit: 'acceptEdits',
  default: 'default',
}

/** What a person is asked about it. */
export function requestOf({ toolName, input }: ToolUse): Pick<OpenBody, 'kind' | 'toolName' | 'request'> {
  switch (toolName) {
    case 'AskUserQuestion':
      return { kind: 'question', toolName, request: { questions: input['questions'] ?? null } }
    case 'ExitPlanMode':
      return { kind: 'plan_review', toolName, request: planIn(input) }
    default:
      return { kind: 'approval', toolName, request: { input } }
  }
}

/** What that means for the tool. `null`: nobody has decided. */
export function decisionOf({ input }: ToolUse, item: Interaction): Decision | null {
  if (isInDoubt(item)) return { behavior: 'deny', message: IN_DOUBT }
  const { settlement, message } = item
  switch (settlement) {
    case 'answered':
      return {
        behavior: 'allow',
        updatedInput: answeredInput(input, item.answer as QuestionAnswer) as unknown as Input,
      }
    case 'approved':
      return item.kind === 'plan_review' ? planApproved(input, item) : approved(input, item)
    case 'denied':
      return { behavior: 'deny', message: refusalOf({ settlement, message }, 'this call') }
    default:
      return null
  }
}

function approved(input: Input, { answer }: Interaction): Decision {
  const { updatedInput } = answer as ApprovalAnswer
  return { behavior: 'allow', updatedInput: updatedInput === undefined ? input : (updatedInput as Input) }
}

function planApproved(input: Input, { answer }: Interaction): Decision {
  const { decision, updatedPlan } = answer as PlanReviewAnswer
  const mode = decision === 'adjust' ? 'default' : MODES[decision]
  return {
    behavior: 'allow',
    updatedInput: updatedPlan === undefined ? input : { ...input, plan: updatedPlan },
    updatedPermissions: [{ type: 'setMode', mode, destination: 'session' }],
  }
}

/** The call may name the file only. */
function planIn({ plan, planFilePath }: Input): { plan: string; planFilePath?: string } {
  const path = typeof planFilePath === 'string' ? planFilePath : undefined
  const text = typeof plan === 'string' && plan.trim() !== '' ? plan : read(path)
  return { plan: text, ...(path !== undefined && { planFilePath: path }) }
}

function read(path: string | undefined): string {
  try {
    return path === undefined ? '' : readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
