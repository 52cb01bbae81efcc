import {
  AskbackError,
  checkReply,
  questionAnswer,
  questionRequest,
  readTextReply,
  repliesIn,
  spellOut,
  type Interaction,
  type Json,
  type Question,
  type QuestionReply,
} from '@askback/protocol'
import {
  BACK,
  oneLine,
  OUTDATED_CONTROL,
  prose,
  type CardAction,
  type CardControl,
  type CardInput,
  type CardKind,
  type CardView,
} from './card.js'

/** The question that a card shows now, and its place among all questions of the request. */
interface CurrentQuestion {
  question: Question
  index: number
  count: number
}

/**
 * One question after the other. An option answers at once, several options are confirmed with "Done", and "Other" takes a
 * text. Replies to earlier questions are in the interaction's progress, so every surface shows the same question.
 */
export const questionCard: CardKind = {
  stepOf: ({ progress }) => repliesIn(progress).length,

  bodyOf(interaction, view) {
    const { question, index, count } = currentQuestion(interaction)
    const { options, header } = question
    const details = options.flatMap(({ label, description, preview }) => [
      ...(description ? [{ as: 'quote' as const, text: prose(description), label: oneLine(label) }] : []),
      ...(preview ? [{ as: 'code' as const, text: spellOut(preview, 'code'), label: oneLine(label) }] : []),
    ])
    const name = header ? `Question: ${oneLine(header)}` : 'Question'
    const takesOnlyText = view.asking !== null || options.length === 0
    return {
      title: count > 1 ? `${name} (${index + 1} of ${count})` : name,
      parts: [{ as: 'quote', text: prose(question.question) }, ...details],
      controls: controlsOf(question, view),
      asks: takesOnlyText ? 'Send your answer as a text.' : null,
    }
  },

  handleInput(interaction, view, input) {
    const current = currentQuestion(interaction)
    return 'text' in input
      ? handleText(interaction, current, view, input.text)
      : handleTap(interaction, current, view, input)
  },

  answerText(interaction, _view, step) {
    const answered = questionAnswer.safeParse(interaction.answer)
    const replies = answered.success ? answered.data.answers : repliesIn(interaction.progress)
    const { questions } = questionRequest.parse(interaction.request)
    const lines = replies.map(({ selected, other }, index) => {
      const chosen = [...selected, ...(other === undefined ? [] : [other])].map(prose).join('; ')
      const { header, question } = questions[index] ?? { header: '', question: '' }
      return questions.length > 1 && step === undefined ? `${oneLine(header || question)}: ${chosen}` : chosen
    })
    return step === undefined ? lines.join('\n') : (lines[step] ?? '')
  },
}

function currentQuestion(interaction: Interaction): CurrentQuestion {
  const { questions } = questionRequest.parse(interaction.request)
  const index = Math.min(repliesIn(interaction.progress).length, questions.length - 1)
  return { question: questions[index]!, index, count: questions.length }
}

function handleText(
  interaction: Interaction,
  current: CurrentQuestion,
  view: CardView,
  text: string,
): CardAction {
  // After "Other", a text is taken literally: "2" is the answer "2", and not the second option.
  if (view.asking) return reply(interaction, current, { selected: view.picked, other: text.trim() })
  if (view.picked.length === 0) return { do: 'route' }
  const { selected, other } = readTextReply(current.question, text)
  const all = [...new Set([...view.picked, ...selected])]
  return reply(interaction, current, { selected: all, ...(other !== undefined && { other }) })
}

function handleTap(
  interaction: Interaction,
  current: CurrentQuestion,
  view: CardView,
  input: Extract<CardInput, { tap: string }>,
): CardAction {
  const { options, multiSelect = false } = current.question
  const option = /^o(\d)$/.exec(input.tap)?.[1]
  if (option !== undefined) {
    const label = options[Number(option)]?.label
    if (label === undefined) return OUTDATED_CONTROL
    if (!multiSelect) return reply(interaction, current, { selected: [label] })
    const picked = view.picked.includes(label)
      ? view.picked.filter((each) => each !== label)
      : options.map((each) => each.label).filter((each) => each === label || view.picked.includes(each))
    return { do: 'show', view: { ...view, picked }, message: `${picked.length} chosen` }
  }
  switch (input.tap) {
    case 'done':
      if (view.picked.length === 0) return { do: 'refuse', message: 'Choose at least one first.' }
      return reply(interaction, current, { selected: view.picked })
    case 'other': {
      const asking = { what: 'other' as const, by: input.by }
      return { do: 'show', view: { ...view, asking }, message: 'Send your answer as a text.' }
    }
    case 'back':
      return { do: 'show', view: { ...view, asking: null }, message: 'Choose one.' }
    default:
      return OUTDATED_CONTROL
  }
}

function controlsOf({ options, multiSelect = false }: Question, view: CardView): CardControl[] {
  if (options.length === 0) return []
  if (view.asking) return [BACK]
  const choices = options.map(({ label }, index): CardControl => {
    const choice: CardControl = { id: `o${index}`, label: oneLine(label), role: 'option' }
    return multiSelect ? { ...choice, checked: view.picked.includes(label) } : choice
  })
  const other: CardControl = { id: 'other', label: 'Other…', role: 'more' }
  return multiSelect
    ? [...choices, other, { id: 'done', label: `Done (${view.picked.length})`, role: 'more' }]
    : [...choices, other]
}

/** Checks the reply with the rules of the desk, so that what the desk would refuse is refused before it is sent. */
function reply(
  interaction: Interaction,
  { question, index, count }: CurrentQuestion,
  given: QuestionReply,
): CardAction {
  const request = questionRequest.parse(interaction.request)
  const text = given.other?.trim()
  const selected = text && !question.multiSelect ? [] : given.selected
  try {
    const checked = checkReply(request, index, { selected, ...(text && { other: text }) })
    const earlier = repliesIn(interaction.progress).map((each, at) => checkReply(request, at, each))
    const answers: Json[] = [...earlier, checked]
    return answers.length < count ? { do: 'progress', answers } : { do: 'answer', answer: { answers } }
  } catch (error) {
    if (error instanceof AskbackError) return { do: 'refuse', message: error.message }
    throw error
  }
}
