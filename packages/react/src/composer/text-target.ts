import {
  formRequest,
  pendingOf,
  planReviewRequest,
  questionRequest,
  repliesIn,
  singleTextField,
  textTakers,
  type Interaction,
  type SessionState,
} from '@askback/protocol'
import { describeCall } from '../content/describe-call.js'
import { firstLine } from '../content/text-labels.js'
import type { Translate } from '../labels.js'
import type { ShownQuestion } from '../question/shown-questions.js'

// Which pending requests take a typed text, in the order of text routing, and what the text does there. The gateway has
// the last word: a text is sent with the target that is shown here, and refused if that does not take it.

/** A pending request that takes a typed text. */
export interface TextTarget {
  interaction: Interaction
  /** What the request is about, on one line, for "Replying to: …". The verb may be the agent's. */
  about: string
  /** A sentence on what sending a text does there. */
  effect: string
  /** Which of several questions the text answers, counted from 0. */
  questionIndex?: number
}

type ShownQuestions = ReadonlyMap<string, ShownQuestion>

/**
 * Every pending request that takes a text, ordered by kind and then by age. A text without a target goes to the
 * first. Of a request with several questions, the target is the question that its card shows, if the card is on the
 * page.
 */
export function textTargets(state: SessionState, shown: ShownQuestions, t: Translate): TextTarget[] {
  return textTakers(pendingOf(state)).flatMap((interaction) => targetIn(interaction, shown, t) ?? [])
}

function targetIn(interaction: Interaction, shown: ShownQuestions, t: Translate): TextTarget | null {
  switch (interaction.kind) {
    case 'approval': {
      const { verb, object } = describeCall(interaction.toolName, inputIn(interaction), t)
      const about = object === null ? verb : firstLine(`${verb} ${object}`)
      return {
        interaction,
        about,
        effect: t('Sending a reply denies this and passes your reason to the agent.'),
      }
    }
    case 'plan_review':
      return planReviewRequest.safeParse(interaction.request).success
        ? { interaction, about: t('the plan'), effect: t('Sending a reply asks for changes to the plan.') }
        : null
    case 'question':
      return questionTarget(interaction, shown.get(interaction.interactionId), t)
    case 'form':
      return formTarget(interaction, t)
    default:
      return null
  }
}

function questionTarget(
  interaction: Interaction,
  shown: ShownQuestion | undefined,
  t: Translate,
): TextTarget | null {
  const parsed = questionRequest.safeParse(interaction.request)
  if (!parsed.success) return null
  const { questions } = parsed.data
  const next = shown?.step ?? repliesIn(interaction.progress).length
  const questionIndex = Math.min(next, questions.length - 1)
  const about = firstLine(questions[questionIndex]!.question)
  const effect =
    questions.length > 1
      ? t('Your reply is the answer to question {number} of {count}.', {
          number: questionIndex + 1,
          count: questions.length,
        })
      : t('Your reply is the answer.')
  return { interaction, about, effect, questionIndex }
}

function formTarget(interaction: Interaction, t: Translate): TextTarget | null {
  const parsed = formRequest.safeParse(interaction.request)
  const field = parsed.success ? singleTextField(parsed.data) : null
  if (!field) return null
  return {
    interaction,
    about: firstLine(field.label ?? field.name),
    effect: t('Your reply fills in the form.'),
  }
}

function inputIn({ request }: Interaction) {
  const isObject = typeof request === 'object' && request !== null && !Array.isArray(request)
  return isObject ? (request['input'] ?? null) : null
}
