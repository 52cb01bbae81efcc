import {
  answerOfPrompt,
  copyJson,
  isRecord,
  spellOut,
  type FormValues,
  type Interaction,
  type Json,
  type KindPrompt,
} from '@askback/protocol'
import {
  EMPTY_VIEW,
  oneLine,
  prose,
  type CardAction,
  type CardControl,
  type CardInteraction,
  type CardKind,
  type CardPart,
  type CardView,
} from './card.js'
import { formCard } from './form.js'

const START_OVER: CardControl = { id: 'restart', label: 'Start over', role: 'more' }

/**
 * A kind that an embedder defined. The form that its desk made of the answer's schema is asked like a form, field by field, below the
 * request. A kind that the desk does not have any more can be read, and says why it cannot be answered.
 */
export const customKindCard: CardKind = {
  stepOf: (interaction, view) => {
    const form = asForm(interaction)
    return form ? formCard.stepOf(form, view) : 0
  },

  bodyOf(interaction, view) {
    const { kind, prompt } = interaction
    const form = asForm(interaction)
    if (!form || !prompt?.prompt) {
      const note: CardPart[] =
        prompt && 'reason' in prompt ? [{ as: 'note', text: prose(prompt.reason) }] : []
      return {
        title: `Waiting: ${oneLine(kind)}`,
        parts: [...requestParts(interaction), ...note],
        controls: [],
        asks: null,
      }
    }
    const body = formCard.bodyOf(form, view)
    const { title, text } = prompt.prompt
    const shown: CardPart[] =
      text === undefined ? requestParts(interaction) : [{ as: 'quote', text: prose(text) }]
    return {
      ...body,
      title: body.title.replace(/^Form/u, oneLine(title).replaceAll('$', '$$$$')),
      parts: [...shown, ...body.parts],
      // The desk may refuse the complete answer because of any of its fields.
      controls: [...body.controls, ...(view.values.length > 0 ? [START_OVER] : [])],
    }
  },

  handleInput(interaction, view, input) {
    const form = asForm(interaction)
    const { prompt } = interaction
    if (!form || !prompt?.prompt) {
      const message = prompt && 'reason' in prompt ? prompt.reason : 'Answer this in the web app.'
      return { do: 'refuse', message }
    }
    if ('tap' in input && input.tap === START_OVER.id)
      return { do: 'show', view: EMPTY_VIEW, message: 'Starting over.' }
    return withAnswer(prompt.prompt, formCard.handleInput(form, view, input))
  },

  answerText(interaction, view, step) {
    if (step !== undefined) return formCard.answerText(interaction, view, step)
    const { answer } = interaction
    if (answer === undefined) return ''
    const values = isRecord(answer) ? answer : { '': answer }
    return Object.entries(values)
      .map(([name, value]) => prose(`${name === '' ? '' : `${name}: `}${textOf(value)}`))
      .join('\n')
  },
}

/** The interaction as one of the kind `form`; `null` if it cannot be answered. */
function asForm(interaction: CardInteraction): Interaction | null {
  const prompt = interaction.prompt?.prompt
  if (!prompt) return null
  const { fields, initialValues } = prompt
  const request = { message: '', schema: { fields }, initialValues }
  return { ...interaction, request: copyJson(request, 'the form') }
}

/** Makes the kind's answer of the values of the form. JSON that is none is refused as soon as it is sent. */
function withAnswer(prompt: KindPrompt, action: CardAction): CardAction {
  const values =
    action.do === 'answer' ? valuesIn(action.answer) : action.do === 'show' ? valuesOf(action.view) : null
  const made = values && answerOfPrompt(prompt, values)
  if (!made) return action
  if ('errors' in made) return { do: 'refuse', message: Object.values(made.errors).join(' ') }
  return action.do === 'answer' ? { do: 'answer', answer: made.answer } : action
}

function valuesIn(answer: Json): FormValues {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the answer of `formCard`
  return (answer as { values: FormValues }).values
}

function valuesOf({ values }: CardView): FormValues {
  return Object.fromEntries(values.flatMap(({ name, value }) => (value === null ? [] : [[name, value]])))
}

/**
 * The names under which parts of a request are shown. A schema may let an agent add any name, and a sentence in the place of a label would
 * be read as ours.
 */
const LABEL = /^[\w-]{1,40}$/

/** The whole request: each text under its name, everything else as JSON. */
function requestParts({ request }: Interaction): CardPart[] {
  const entries = isRecord(request) ? Object.entries(request) : []
  if (entries.length === 0) return [jsonPart(request)]
  return entries.map(([name, value]) => {
    if (!LABEL.test(name)) return jsonPart({ [name]: value })
    const label = oneLine(name)
    return typeof value === 'string'
      ? { as: 'quote', text: prose(value), label }
      : { ...jsonPart(value), label }
  })
}

function jsonPart(value: Json): CardPart {
  return { as: 'code', text: spellOut(JSON.stringify(value, null, 2), 'code') }
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
