import {
  fieldsOf,
  formRequest,
  spellOut,
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

/** One field after the other. What was given stays on the surface until the form is complete. */
export const formFlow: CardFlow = {
  step: (_item, view) => view.values.length,
  body(item, view) {
    const { message } = formRequest.parse(item.request)
    const { field, index, count } = fieldNow(item, view)
    const error = item.errors?.[field.name]
    const parts: Part[] = [{ as: 'quote', text: prose(message) }]
    if (field.description)
      parts.push({ as: 'quote', text: prose(field.description), label: prose(nameOf(field)) })
    if (error) parts.push({ as: 'note', text: `Last time: ${prose(error)}` })
    return {
      title: `Form: ${prose(nameOf(field))}${count > 1 ? ` (${index + 1} of ${count})` : ''}`,
      parts,
      controls: controlsOf(item, field, view),
      asks: choicesOf(field) ? null : `Send ${wanted(field)} as a text.`,
    }
  },
  take(item, view, input) {
    const { field } = fieldNow(item, view)
    const choices = choicesOf(field)
    if ('text' in input) {
      if (!choices) return give(item, view, field, parsed(field, input.text.trim()))
      const text = input.text.trim().toLowerCase()
      const found = choices.find(({ label }) => label.toLowerCase() === text) ?? choices[Number(text) - 1]
      if (!found) return { do: 'refuse', told: 'Choose one of the buttons.' }
      return give(item, view, field, field.type === 'multiselect' ? [found.value] : found.value)
    }
    if (input.tap === 'skip') return give(item, view, field, null)
    if (input.tap === 'keep') return give(item, view, field, initialOf(item, field) ?? null)
    const choice = choices?.[Number(/^o(\d+)$/.exec(input.tap)?.[1] ?? -1)]
    if (field.type !== 'multiselect') return choice ? give(item, view, field, choice.value) : stale
    if (input.tap === 'done') {
      const chosen = (choices ?? []).filter(({ label }) => view.picked.includes(label))
      return give(
        item,
        view,
        field,
        chosen.map(({ value }) => value),
      )
    }
    if (!choice) return stale
    const picked = view.picked.includes(choice.label)
      ? view.picked.filter((label) => label !== choice.label)
      : [...view.picked, choice.label]
    return { do: 'show', view: { ...view, picked }, told: `${picked.length} chosen` }
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

function give(item: Interaction, view: CardView, field: FormField, value: Json): CardStep {
  const error = fieldError(field, value ?? undefined)
  if (error !== null) return { do: 'refuse', told: `${nameOf(field)}: ${error}` }
  const values = [...view.values, { name: field.name, value }]
  const next: CardView = { picked: [], asking: null, values }
  if (visible(item, next).length > values.length) return { do: 'show', view: next, told: 'Noted.' }
  const given = values.filter((each) => each.value !== null)
  return {
    do: 'answer',
    answer: { values: Object.fromEntries(given.map((each) => [each.name, each.value])) },
  }
}

function controlsOf(item: Interaction, field: FormField, view: CardView): Control[] {
  const choices = (choicesOf(field) ?? []).map(({ label }, index): Control => {
    const control: Control = { id: `o${index}`, label: prose(label), role: 'option' }
    return field.type === 'multiselect' ? { ...control, checked: view.picked.includes(label) } : control
  })
  const initial = initialOf(item, field)
  return [
    ...choices,
    ...(field.type === 'multiselect'
      ? [{ id: 'done', label: `Done (${view.picked.length})`, role: 'more' } satisfies Control]
      : []),
    ...(initial === undefined
      ? []
      : [
          {
            id: 'keep',
            label: `Keep: ${prose(textOf(initial)).slice(0, 40)}`,
            role: 'more',
          } satisfies Control,
        ]),
    ...(field.required ? [] : [{ id: 'skip', label: 'Leave out', role: 'more' } satisfies Control]),
  ]
}

function choicesOf(field: FormField): { label: string; value: Json }[] | null {
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

function parsed(field: FormField, text: string): Json {
  if (field.type !== 'number') return text
  const number = Number(text.replace(',', '.'))
  return text !== '' && Number.isFinite(number) ? number : text
}

function initialOf(item: Interaction, field: FormField): Json | undefined {
  const { initialValues } = formRequest.parse(item.request)
  return initialValues && Object.hasOwn(initialValues, field.name) ? initialValues[field.name] : undefined
}

function wanted(field: FormField): string {
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

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function prose(text: string): string {
  return spellOut(text, 'prose')
}
