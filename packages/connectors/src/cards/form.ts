import { fieldError } from '@askback/core/internal'
import {
  fieldsOf,
  formRequest,
  readTextReply,
  visibleFields,
  type FormField,
  type Interaction,
  type Json,
} from '@askback/protocol'
import {
  oneLine,
  OUTDATED_CONTROL,
  prose,
  type CardAction,
  type CardControl,
  type CardKind,
  type CardPart,
  type CardView,
} from './card.js'

/** Longest initial value on the "Keep" button, in characters. */
const MAX_KEEP_LABEL = 20

/** One way to fill a field. */
interface FieldChoice {
  /** The id of its control. */
  id: string
  label: string
  value: Json
}

/** The field that is asked for now, and the person who fills it in. */
interface FieldInput {
  interaction: Interaction
  view: CardView
  field: FormField
  by: string
}

/**
 * One field after the other. Unlike the replies to questions, values that were given stay in the card's view on this
 * surface until the form is complete; then all of them are sent as one answer.
 */
export const formCard: CardKind = {
  stepOf: (_interaction, view) => view.values.length,

  bodyOf(interaction, view) {
    const { message } = formRequest.parse(interaction.request)
    const { field, index, count } = currentField(interaction, view)
    const error = interaction.errors?.[field.name]
    const parts: CardPart[] = message === '' ? [] : [{ as: 'quote', text: prose(message) }]
    if (field.description)
      parts.push({ as: 'quote', text: prose(field.description), label: oneLine(nameOf(field)) })
    if (error) parts.push({ as: 'note', text: `Last time: ${prose(error)}` })
    const initial = initialText(interaction, field)
    if (initial && initial.short !== initial.whole)
      parts.push({ as: 'quote', text: initial.whole, label: 'What can be kept' })
    return {
      title: `Form: ${oneLine(nameOf(field))}${count > 1 ? ` (${index + 1} of ${count})` : ''}`,
      parts,
      controls: controlsOf(interaction, field, view),
      asks: choicesOf(field) ? null : `Send ${expectedText(field)} as a text.`,
    }
  },

  handleInput(interaction, view, input) {
    const { field } = currentField(interaction, view)
    const target: FieldInput = { interaction, view, field, by: input.by }
    const choices = choicesOf(field)
    if ('text' in input)
      return choices ? chooseByText(target, choices, input.text) : fillWithText(target, input.text)
    if (input.tap === 'skip') return fill(target, null)
    if (input.tap === 'keep') return fill(target, initialValue(interaction, field) ?? null)
    return choices ? choose(target, choices, input.tap) : OUTDATED_CONTROL
  },

  answerText({ answer }, view, step) {
    const describe = ({ name, value }: { name: string; value: Json }) =>
      value === null ? '(left out)' : prose(`${step === undefined ? `${name}: ` : ''}${valueText(value)}`)
    if (step !== undefined) return view.values[step] ? describe(view.values[step]) : ''
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the desk has checked the answer of a form
    const { values = {} } = (answer ?? {}) as { values?: Record<string, Json> }
    return Object.entries(values)
      .map(([name, value]) => describe({ name, value }))
      .join('\n')
  },
}

function currentField(interaction: Interaction, view: CardView) {
  const fields = fieldsInOrder(interaction, view)
  const index = Math.min(view.values.length, fields.length - 1)
  return { field: fields[index]!, index, count: fields.length }
}

/** The fields that have a value, then those that are visible with these values and are still to be asked. */
function fieldsInOrder(interaction: Interaction, view: CardView): FormField[] {
  const { schema } = formRequest.parse(interaction.request)
  const values = new Map(view.values.map(({ name, value }) => [name, value]))
  const filled = fieldsOf(schema).filter((field) => values.has(field.name))
  const rest = visibleFields(fieldsOf(schema), values).filter((field) => !values.has(field.name))
  return [...filled, ...rest]
}

function fillWithText(target: FieldInput, typed: string): CardAction {
  const text = typed.trim()
  if (target.field.type !== 'number') return fill(target, text)
  // A comma separates thousands in some languages and decimals in others, so guessing could change the number.
  if (text.includes(',')) return { do: 'refuse', message: 'Write the number without commas: 1000 or 1.5.' }
  const number = Number(text)
  return fill(target, text !== '' && Number.isFinite(number) ? number : text)
}

function chooseByText(target: FieldInput, choices: FieldChoice[], text: string): CardAction {
  const { field, view } = target
  const isMultiple = field.type === 'multiselect'
  // Read in the same way as a text reply to a question.
  const read = readTextReply({ question: '', options: choices, multiSelect: isMultiple }, text)
  if (read.other !== undefined) return { do: 'refuse', message: 'Choose one of the buttons.' }
  const named = choices.filter(({ label }) => read.selected.includes(label))
  if (!isMultiple) return fill(target, named[0]!.value)
  return fillWithAll(target, choices, [...view.picked, ...named.map(({ id }) => id)])
}

function choose(target: FieldInput, choices: FieldChoice[], control: string): CardAction {
  const { field, view } = target
  if (field.type === 'multiselect' && control === 'done') return fillWithAll(target, choices, view.picked)
  const choice = choices.find(({ id }) => id === control)
  if (!choice) return OUTDATED_CONTROL
  if (field.type !== 'multiselect') return fill(target, choice.value)
  const picked = view.picked.includes(choice.id)
    ? view.picked.filter((id) => id !== choice.id)
    : [...view.picked, choice.id]
  return { do: 'show', view: { ...view, picked }, message: `${picked.length} chosen` }
}

function fillWithAll(target: FieldInput, choices: FieldChoice[], ids: string[]): CardAction {
  const chosen = choices.filter(({ id }) => ids.includes(id))
  return fill(
    target,
    chosen.map(({ value }) => value),
  )
}

/** Takes a value for the field, where `null` leaves it out. The value of the last field completes the answer. */
function fill({ interaction, view, field, by }: FieldInput, value: Json): CardAction {
  const error = fieldError(field, value ?? undefined)
  if (error !== null) return { do: 'refuse', message: `${nameOf(field)}: ${error}` }
  const values = [...view.values, { name: field.name, value, by }]
  const next: CardView = { picked: [], asking: null, values }
  if (fieldsInOrder(interaction, next).length > values.length)
    return { do: 'show', view: next, message: 'Noted.' }
  const given = values.filter((each) => each.value !== null)
  return {
    do: 'answer',
    answer: { values: Object.fromEntries(given.map((each) => [each.name, each.value])) },
  }
}

function controlsOf(interaction: Interaction, field: FormField, view: CardView): CardControl[] {
  const choices = (choicesOf(field) ?? []).map(({ id, label }): CardControl => {
    const control: CardControl = { id, label: oneLine(label), role: 'option' }
    return field.type === 'multiselect' ? { ...control, checked: view.picked.includes(id) } : control
  })
  const initial = initialText(interaction, field)
  const more = (id: string, label: string): CardControl => ({ id, label, role: 'more' })
  return [
    ...choices,
    ...(field.type === 'multiselect' ? [more('done', `Done (${view.picked.length})`)] : []),
    ...(initial ? [more('keep', `Keep: ${oneLine(initial.short)}`)] : []),
    ...(field.required ? [] : [more('skip', 'Leave out')]),
  ]
}

/** What can be chosen for a field; `null` if it takes a text. Choices with the same label also show their values. */
function choicesOf(field: FormField): FieldChoice[] | null {
  const choices = labelledValues(field)?.map((choice, index) => ({ ...choice, id: `o${index}` }))
  if (!choices) return null
  const labels = choices.map(({ label }) => label)
  return choices.map((choice) => {
    const isUnique = labels.indexOf(choice.label) === labels.lastIndexOf(choice.label)
    return isUnique ? choice : { ...choice, label: `${choice.label} (${JSON.stringify(choice.value)})` }
  })
}

function labelledValues(field: FormField): { label: string; value: Json }[] | null {
  switch (field.type) {
    case 'boolean':
    case 'checkbox':
      return [
        { label: 'Yes', value: true },
        { label: 'No', value: false },
      ]
    case 'select':
    case 'radio':
    case 'multiselect':
      return (field.options ?? []).map(({ value, label }) => ({ label: label ?? String(value), value }))
    default:
      return null
  }
}

/** The initial value as it fits on a button, and completely; `null` if there is none. */
function initialText(interaction: Interaction, field: FormField): { short: string; whole: string } | null {
  const initial = initialValue(interaction, field)
  if (initial === undefined) return null
  const whole = prose(valueText(initial))
  const characters = Array.from(whole)
  const isShort = characters.length <= MAX_KEEP_LABEL
  return { whole, short: isShort ? whole : `${characters.slice(0, MAX_KEEP_LABEL).join('')}…` }
}

/** A `null` among the initial values means that the field is left out, as it does in an answer. */
function initialValue(interaction: Interaction, field: FormField): Json | undefined {
  const { initialValues } = formRequest.parse(interaction.request)
  if (!initialValues || !Object.hasOwn(initialValues, field.name)) return undefined
  return initialValues[field.name] ?? undefined
}

function expectedText(field: FormField): string {
  switch (field.type) {
    case 'number':
      return 'a number'
    case 'date':
      return 'a date such as 2030-12-31'
    case 'time':
      return 'a time such as 14:30'
    case 'datetime':
      return 'a date and time such as 2030-12-31T14:30'
    default:
      return 'your answer'
  }
}

function nameOf(field: FormField): string {
  return field.label ?? field.name
}

function valueText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
