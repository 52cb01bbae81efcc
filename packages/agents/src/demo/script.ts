import type { FormRequest, Json, PlanReviewRequest, QuestionRequest } from '@askback/protocol'

/**
 * What a scripted agent does in one turn, as data. `{{name}}` in a text stands for what came of the step of that name:
 * the chosen labels, the decision, the typed values.
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

export function fill(text: string, outcomes: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) => outcomes.get(name) ?? whole)
}
