import type { FormRequest, Json, PlanReviewRequest, QuestionRequest } from '@askback/protocol'

/**
 * What a scripted agent does in one turn, as data. `{{name}}` in a text stands for what came of the step of that name:
 * the chosen labels, the decision, the typed values. `{{name.reason}}` is the sentence that quotes a person's reason, or
 * nothing where none was given.
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
  | (QuestionRequest & Ask & { do: 'ask' })
  | (Ask & {
      do: 'approve'
      toolName: string
      input: Json
      output: Json
      title?: string
      description?: string
      /** The tool writes this file, inside the session's folder. */
      edits?: boolean
    })
  | (PlanReviewRequest & Ask & { do: 'plan' })
  | (FormRequest & Ask & { do: 'form' })
  /** Everything in it at once. */
  | { do: 'together'; steps: Step[] }
  /** `is`: how the step was settled, or what was answered. */
  | { do: 'when'; name: string; is: string; steps: Step[]; otherwise?: Step[] }
  | { do: 'pause'; ms: number }
  | { do: 'fail'; message: string }

interface Ask {
  /** What later steps call its outcome. */
  name?: string
  timeoutMs?: number | null
}

export interface Script {
  /** The first whose pattern is found in the message, without regard to case; one without a pattern always is. */
  turns: { on?: string; steps: Step[] }[]
}

export function stepsFor(script: Script, message: string): Step[] {
  const text = message.toLowerCase()
  return script.turns.find(({ on }) => on === undefined || text.includes(on.toLowerCase()))?.steps ?? []
}

/** What came of a named step. */
export interface Outcome {
  /** How it was settled. */
  settlement: string
  /** What was answered, or how it was settled, for a person to read. */
  text: string
  /** Why a person refused. */
  reason?: string | undefined
}

export function isOutcome(outcome: Outcome | undefined, wanted: string): boolean {
  return outcome?.settlement === wanted || outcome?.text === wanted
}

export function fill(text: string, outcomes: ReadonlyMap<string, Outcome>): string {
  return text.replaceAll(/\{\{(\w+)(\.reason)?\}\}/g, (whole, name: string, wantsReason?: string) => {
    const outcome = outcomes.get(name)
    if (!outcome) return whole
    if (!wantsReason) return outcome.text
    return outcome.reason === undefined ? '' : ` You said: “${outcome.reason}”.`
  })
}
