import {
  fieldsOf,
  formRequest,
  spellOut,
  spellOutLine,
  visibleFields,
  type FormField,
  type Interaction,
  type Json,
} from '@askback/protocol'
import { fieldError } from '../kinds/form-values.js'
import {
  stale,
  type CardFlow,
  type CardStep,
  type CardView,
  type Control,
  type Part,
} from './connector-card.js'
import { choicesOf, chosenByText, initialOf, nameOf, wanted, type Choice } from './connector-form-fields.js'

const LONGEST_KEPT = 20

interface Given {
  item: Interaction
  view: CardView
  field: FormField
  by: string
}

/** One field after the other. What was given stays on the surface until the form is complete. */
export const formFlow: CardFlow = {
  step: (_item, view) => view.values.length,
  body(item, view) {
    const { message } = formRequest.parse(item.request)
    const { field, index, count } = fieldNow(item, view)
    const error = item.errors?.[field.name]
    const parts: Part[] = [{ as: 'quote', text: prose(message) }]
    if (field.description)
      parts.push({ as: 'quote', text: prose(field.description), label: oneLine(nameOf(field)) })
    if (error) parts.push({ as: 'note', text: `Last time: ${prose(error)}` })
    const kept = keptOf(item, field)
    if (kept && kept.short !== kept.whole)
      parts.push({ as: 'quote', text: kept.whole, label: 'What can be kept' })
    return {
      title: `Form: ${oneLine(nameOf(field))}${count > 1 ? ` (${index + 1} of ${count})` : ''}`,
      parts,
      controls: controlsOf(item, field, view),
      asks: choicesOf(field) ? null : `Send ${wanted(field)} as a text.`,
    }
  },
  take(item, view, input) {
    const { field } = fieldNow(item, view)
    const given: Given = { item, view, field, by: input.by }
    const choices = choicesOf(field)
    if ('text' in input)
      return choices ? chooseByText(given, choices, input.text) : takeText(given, input.text)
    if (input.tap === 'skip') return give(given, null)
    if (input.tap === 'keep') return give(given, initialOf(item, field) ?? null)
    return choices ? choose(given, choices, input.tap) : stale
  },
  said(item, view, step) {
    const shown = ({ name, value }: { name: string; value: Json }) =>
      value === null ? '(left out)' : prose(`${step === undefined ? `${name}: ` : ''}${textOf(value)}`)
    if (step !== undefined) return view.values[step] ? shown(view.values[step]) : ''
    const { values = {} } = (item.answer ?? {}) as { values?: Record<string, Json> }
    return Object.entries(values)
      .map(([name, value]) => shown({ name, value }))
      .join('\n')
  },
}

function fieldNow(item: Interaction, view: CardView) {
  const fields = visible(item, view)
  const index = Math.min(view.values.length, fields.length - 1)
  return { field: fields[index]!, index, count: fields.length }
}

function visible(item: Interaction, view: CardView): FormField[] {
  const { schema } = formRequest.parse(item.request)
  const known = new Map(view.values.map(({ name, value }) => [name, value]))
  const asked = fieldsOf(schema).filter((field) => known.has(field.name))
  const rest = visibleFields(fieldsOf(schema), known).filter((field) => !known.has(field.name))
  return [...asked, ...rest]
}

function takeText(given: Given, typed: string): CardStep {
  const text = typed.trim()
  if (given.field.type !== 'number') return give(given, text)
  // It divides thousands for some and halves for others: to guess would change the number.
  if (text.includes(',')) return { do: 'refuse', told: 'Write the number without commas: 1000 or 1.5.' }
  const number = Number(text)
  return give(given, text !== '' && Number.isFinite(number) ? number : text)
}

function chooseByText(given: Given, choices: Choice[], text: string): CardStep {
  const { field, view } = given
  const named = chosenByText(field, choices, text)
  if (!named) return { do: 'refuse', told: 'Choose one of the buttons.' }
  if (field.type !== 'multiselect') return give(given, named[0]!.value)
  return giveAll(given, choices, [...view.picked, ...named.map(({ id }) => id)])
}

function choose(given: Given, choices: Choice[], control: string): CardStep {
  const { field, view } = given
  if (field.type === 'multiselect' && control === 'done') return giveAll(given, choices, view.picked)
  const choice = choices.find(({ id }) => id === control)
  if (!choice) return stale
  if (field.type !== 'multiselect') return give(given, choice.value)
  const picked = view.picked.includes(choice.id)
    ? view.picked.filter((id) => id !== choice.id)
    : [...view.picked, choice.id]
  return { do: 'show', view: { ...view, picked }, told: `${picked.length} chosen` }
}

function giveAll(given: Given, choices: Choice[], ids: string[]): CardStep {
  const chosen = choices.filter(({ id }) => ids.includes(id))
  return give(
    given,
    chosen.map(({ value }) => value),
  )
}

function give({ item, view, field, by }: Given, value: Json): CardStep {
  const error = fieldError(field, value ?? undefined)
  if (error !== null) return { do: 'refuse', told: `${nameOf(field)}: ${error}` }
  const values = [...view.values, { name: field.name, value, by }]
  const next: CardView = { picked: [], asking: null, values }
  if (visible(item, next).length > values.length) return { do: 'show', view: next, told: 'Noted.' }
  const given = values.filter((each) => each.value !== null)
  return {
    do: 'answer',
    answer: { values: Object.fromEntries(given.map((each) => [each.name, each.value])) },
  }
}

function controlsOf(item: Interaction, field: FormField, view: CardView): Control[] {
  const choices = (choicesOf(field) ?? []).map(({ id, label }): Control => {
    const control: Control = { id, label: oneLine(label), role: 'option' }
    return field.type === 'multiselect' ? { ...control, checked: view.picked.includes(id) } : control
  })
  const kept = keptOf(item, field)
  const more = (id: string, label: string): Control => ({ id, label, role: 'more' })
  return [
    ...choices,
    ...(field.type === 'multiselect' ? [more('done', `Done (${view.picked.length})`)] : []),
    ...(kept ? [more('keep', `Keep: ${oneLine(kept.short)}`)] : []),
    ...(field.required ? [] : [more('skip', 'Leave out')]),
  ]
}

/** What was there before, as it fits on a button and as it is. */
function keptOf(item: Interaction, field: FormField): { short: string; whole: string } | null {
  const initial = initialOf(item, field)
  if (initial === undefined) return null
  const whole = prose(textOf(initial))
  const characters = Array.from(whole)
  const isShort = characters.length <= LONGEST_KEPT
  return { whole, short: isShort ? whole : `${characters.slice(0, LONGEST_KEPT).join('')}…` }
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function prose(text: string): string {
  return spellOut(text, 'prose')
}

function oneLine(text: string): string {
  return spellOutLine(text, 'prose')
}
