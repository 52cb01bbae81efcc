import { errorCodes } from '@askback/protocol/errors'
import { isInDoubt } from '@askback/protocol/in-doubt'
import type {
  ApprovalAnswer,
  FormAnswer,
  Interaction,
  PlanReviewAnswer,
  QuestionAnswer,
} from '@askback/protocol'
import { STOPPED } from './signals.js'
import { printData, printJson, say } from '../output.js'

const EXIT = { answered: 0, approved: 0, denied: 3, cancelled: 4, superseded: 4, timed_out: 5 } as const

const IN_DOUBT =
  'This was approved, but the approval had been handed over before: what it allows may have run already. Check that, then ask again.'

/**
 * Answers go to stdout, all else to stderr. Returns the exit code, which says how it ended. An approval that was handed over
 * before is an error to whoever asked (L10), but not to a person who only looks on.
 */
export function printOutcome(
  item: Interaction,
  { json, looksOn = false }: { json: boolean; looksOn?: boolean },
): number {
  const { settlement } = item
  const inDoubt = !looksOn && isInDoubt(item)
  const exit = inDoubt
    ? errorCodes.already_settled.exit
    : settlement === undefined
      ? STOPPED
      : EXIT[settlement]
  if (inDoubt) say(IN_DOUBT)
  if (json) printJson(item)
  else if (exit === 0) printData(answerText(item))
  else if (!inDoubt) say(outcomeText(item))
  return exit
}

/** What a script wants to read: the bare answer, one line for each thing chosen. */
function answerText(item: Interaction): string {
  switch (item.kind) {
    case 'question':
      return lines((item.answer as QuestionAnswer).answers.flatMap(repliesOf))
    case 'approval': {
      const { updatedInput } = item.answer as ApprovalAnswer
      return updatedInput === undefined ? '' : `${JSON.stringify(updatedInput)}\n`
    }
    case 'form':
      return `${JSON.stringify((item.answer as FormAnswer).values)}\n`
    case 'plan_review':
      return `${(item.answer as PlanReviewAnswer).decision}\n`
    default:
      return `${JSON.stringify(item.answer ?? null)}\n`
  }
}

function repliesOf({ selected, other }: QuestionAnswer['answers'][number]): string[] {
  return other === undefined ? selected : [...selected, other]
}

function lines(texts: string[]): string {
  return texts.map((text) => `${text}\n`).join('')
}

function outcomeText({ settlement, message, by }: Interaction): string {
  const who = by ? ` by ${by.name ?? by.id}` : ''
  switch (settlement) {
    case 'denied':
      return message ? `Denied${who}: ${message}` : `Denied${who}.`
    case 'timed_out':
      return 'Nobody answered in time.'
    case 'superseded':
      return 'Another request took its place.'
    case 'cancelled':
      return `Cancelled${who}.`
    default:
      return 'It still waits for an answer.'
  }
}
