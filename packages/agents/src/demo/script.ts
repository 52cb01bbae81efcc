import type { FormRequest, Json, PlanReviewRequest, QuestionRequest } from '@askback/protocol'

/**
 * One step of a scripted turn, as data. In a text `{{name}}` stands for the outcome of the step with that name: the chosen
 * labels, the decision, or the typed values. `{{name.reason}}` is a sentence that quotes the person's reason; it is empty if there
 * is none.
 */
export type Step =
  | { do: 'say'; text: string }
  | { do: 'think'; text: string }
  | {
      do: 'tool'
      toolName: string
      input: Json
      output: Json
      isError?: boolean
      parent?: string
      name?: string
    }
  | (QuestionRequest & RequestStep & { do: 'ask' })
  | (RequestStep & {
      do: 'approve'
      toolName: string
      input: Json
      output: Json
      title?: string
      description?: string
      /** Whether the tool edits a file inside the session's folder. */
      edits?: boolean
    })
  | (PlanReviewRequest & RequestStep & { do: 'plan' })
  | (FormRequest & RequestStep & { do: 'form' })
  /** Runs all its steps at once. */
  | { do: 'together'; steps: Step[] }
  /** `is`: the settlement of the named step, or its outcome as text. */
  | { do: 'when'; name: string; is: string; steps: Step[]; otherwise?: Step[] }
  | { do: 'pause'; ms: number }
  | { do: 'fail'; message: string }

interface RequestStep {
  /** By which later steps refer to its outcome. */
  name?: string
  /** In milliseconds; `null` without a limit. */
  timeoutMs?: number | null
}

/** What a scripted agent does. */
export interface Script {
  /** The first turn whose `on` is part of the message is played; upper and lower case are the same. Without `on` it always is. */
  turns: { on?: string; steps: Step[] }[]
}

export function stepsFor(script: Script, message: string): Step[] {
  const text = message.toLowerCase()
  return script.turns.find(({ on }) => on === undefined || text.includes(on.toLowerCase()))?.steps ?? []
}

/** The outcome of a named step. */
export interface StepOutcome {
  settlement: string
  /** The answer, or the settlement in words. */
  text: string
  /** Why the person refused. */
  reason?: string | undefined
}

export function matchesOutcome(outcome: StepOutcome | undefined, wanted: string): boolean {
  return outcome?.settlement === wanted || outcome?.text === wanted
}

/** Replaces `{{name}}` and `{{name.reason}}`. Names without an outcome are left as they are. */
export function fillTemplate(text: string, outcomes: ReadonlyMap<string, StepOutcome>): string {
  return text.replaceAll(/\{\{(\w+)(\.reason)?\}\}/g, (whole, name: string, wantsReason?: string) => {
    const outcome = outcomes.get(name)
    if (!outcome) return whole
    if (!wantsReason) return outcome.text
    return outcome.reason === undefined ? '' : ` You said: “${outcome.reason}”.`
  })
}
