import {
  checkReply,
  questionAnswer,
  questionRequest,
  readTextReply,
  spellOut,
  spellOutLine,
  type Interaction,
  type Json,
} from '@askback/protocol'
import { progressOf } from '../kinds/question.js'
import { back, stale, type CardFlow, type CardStep, type CardView, type Control } from './connector-card.js'
import { refusalOf } from './connector-refusal.js'

type Question = ReturnType<typeof questionOf>

/** One question after the other: a button or a text, several with Done, "Other" by text. */
export const questionFlow: CardFlow = {
  step: (item) => progressOf(item.progress).length,
  body(item, view) {
    const { question, index, count } = questionOf(item)
    const { options, header } = question
    const details = options.flatMap(({ label, description, preview }) => [
      ...(description ? [{ as: 'quote' as const, text: prose(description), label: oneLine(label) }] : []),
      ...(preview ? [{ as: 'code' as const, text: spellOut(preview, 'code'), label: oneLine(label) }] : []),
    ])
    const name = header ? `Question: ${oneLine(header)}` : 'Question'
    return {
      title: count > 1 ? `${name} (${index + 1} of ${count})` : name,
      parts: [{ as: 'quote', text: prose(question.question) }, ...details],
      controls: controlsOf(question, view),
      asks: isAsking(question, view) ? 'Send your answer as a text.' : null,
    }
  },
  take(item, view, input) {
    const asked = questionOf(item)
    const { options, multiSelect = false } = asked.question
    if ('text' in input) {
      if (view.asking) return reply(item, asked, { selected: view.picked, other: input.text.trim() })
      if (view.picked.length === 0) return { do: 'route' }
      const { selected, other } = readTextReply(asked.question, input.text)
      const all = [...new Set([...view.picked, ...selected])]
      return reply(item, asked, { selected: all, ...(other !== undefined && { other }) })
    }
    const option = /^o(\d)$/.exec(input.tap)?.[1]
    if (option !== undefined) {
      const label = options[Number(option)]?.label
      if (label === undefined) return stale
      if (!multiSelect) return reply(item, asked, { selected: [label] })
      const picked = view.picked.includes(label)
        ? view.picked.filter((each) => each !== label)
        : options.map((each) => each.label).filter((each) => each === label || view.picked.includes(each))
      return { do: 'show', view: { ...view, picked }, told: `${picked.length} chosen` }
    }
    switch (input.tap) {
      case 'done':
        if (view.picked.length === 0) return { do: 'refuse', told: 'Choose at least one first.' }
        return reply(item, asked, { selected: view.picked })
      case 'other':
        return asks(view, input.by)
      case 'back':
        return { do: 'show', view: { ...view, asking: null }, told: 'Choose one.' }
      default:
        return stale
    }
  },
  said(item, _view, step) {
    const answered = questionAnswer.safeParse(item.answer)
    const replies = answered.success ? answered.data.answers : progressOf(item.progress)
    const { questions } = questionRequest.parse(item.request)
    const lines = replies.map(({ selected, other }, index) => {
      const chosen = [...selected, ...(other === undefined ? [] : [other])].map(prose).join('; ')
      const { header, question } = questions[index] ?? { header: '', question: '' }
      return questions.length > 1 && step === undefined ? `${oneLine(header || question)}: ${chosen}` : chosen
    })
    return step === undefined ? lines.join('\n') : (lines[step] ?? '')
  },
}

function questionOf(item: Interaction) {
  const { questions } = questionRequest.parse(item.request)
  const index = Math.min(progressOf(item.progress).length, questions.length - 1)
  return { question: questions[index]!, index, count: questions.length }
}

function controlsOf({ options, multiSelect = false }: Question['question'], view: CardView): Control[] {
  if (view.asking) return options.length > 0 ? [back] : []
  if (options.length === 0) return []
  const choices = options.map(({ label }, index): Control => {
    const choice: Control = { id: `o${index}`, label: oneLine(label), role: 'option' }
    return multiSelect ? { ...choice, checked: view.picked.includes(label) } : choice
  })
  const other: Control = { id: 'other', label: 'Other…', role: 'more' }
  return multiSelect
    ? [...choices, other, { id: 'done', label: `Done (${view.picked.length})`, role: 'more' }]
    : [...choices, other]
}

function isAsking({ options }: Question['question'], view: CardView): boolean {
  return view.asking !== null || options.length === 0
}

function asks(view: CardView, by: string): CardStep {
  return { do: 'show', view: { ...view, asking: { what: 'other', by } }, told: 'Send your answer as a text.' }
}

function reply(
  item: Interaction,
  { question, index, count }: Question,
  given: { selected: string[]; other?: string },
): CardStep {
  const request = questionRequest.parse(item.request)
  const text = given.other?.trim()
  const selected = text && !question.multiSelect ? [] : given.selected
  return refusalOf(() => {
    const checked = checkReply(request, index, { selected, ...(text && { other: text }) })
    const answers: Json[] = [
      ...progressOf(item.progress).map((each, at) => checkReply(request, at, each)),
      checked,
    ]
    return answers.length < count ? { do: 'progress', answers } : { do: 'answer', answer: { answers } }
  })
}

function prose(text: string): string {
  return spellOut(text, 'prose')
}

function oneLine(text: string): string {
  return spellOutLine(text, 'prose')
}
