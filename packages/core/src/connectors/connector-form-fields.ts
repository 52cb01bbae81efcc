import { formRequest, readTextReply, type FormField, type Interaction, type Json } from '@askback/protocol'

export interface Choice {
  /** Of its control. */
  id: string
  label: string
  value: Json
}

/** What can be chosen for a field; `null` where it takes a text. */
export function choicesOf(field: FormField): Choice[] | null {
  const choices = pairsOf(field)?.map((pair, index) => ({ ...pair, id: `o${index}` }))
  if (!choices) return null
  const labels = choices.map(({ label }) => label)
  return choices.map((choice) => {
    const isAlone = labels.indexOf(choice.label) === labels.lastIndexOf(choice.label)
    return isAlone ? choice : { ...choice, label: `${choice.label} (${JSON.stringify(choice.value)})` }
  })
}

/** What a typed line chooses, read as for a question; `null` if it is none of them. */
export function chosenByText(field: FormField, choices: Choice[], text: string): Choice[] | null {
  const { selected, other } = readTextReply(
    { question: '', options: choices, multiSelect: field.type === 'multiselect' },
    text,
  )
  return other === undefined ? choices.filter(({ label }) => selected.includes(label)) : null
}

export function initialOf(item: Interaction, field: FormField): Json | undefined {
  const { initialValues } = formRequest.parse(item.request)
  if (!initialValues || !Object.hasOwn(initialValues, field.name)) return undefined
  // As everywhere, null counts as left out.
  return initialValues[field.name] ?? undefined
}

export function wanted(field: FormField): string {
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

export function nameOf(field: FormField): string {
  return field.label ?? field.name
}

function pairsOf(field: FormField): { label: string; value: Json }[] | null {
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
