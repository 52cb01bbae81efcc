import {
  canonicalJson,
  fieldsOf,
  type FormField,
  type FormRequest,
  type FormValues,
  type Json,
} from '@askback/protocol'

/** Those that are on screen with these values; one that depends on a hidden one is hidden too. */
export function visibleFields(request: FormRequest, values: FormValues): Set<FormField> {
  const byName = new Map(fieldsOf(request.schema).map((field) => [field.name, field]))
  const visible = new Set<FormField>()
  const looking = new Set<FormField>()

  const isVisible = (field: FormField): boolean => {
    if (visible.has(field) || looking.has(field)) return visible.has(field)
    looking.add(field)
    const parent = field.visibleWhen && byName.get(field.visibleWhen.field)
    const shown = !parent || (isVisible(parent) && holds(field, parent, valueOf(values, parent.name)))
    if (shown) visible.add(field)
    return shown
  }
  for (const field of byName.values()) isVisible(field)
  return visible
}

/**
 * Why a value cannot be sent, as far as a look at it tells. Patterns are left to the gateway: they come from an agent,
 * and only an engine that runs in linear time may try them.
 */
export function fieldError(field: FormField, value: Json | undefined): string | null {
  if (isEmpty(value)) return field.required ? 'Required.' : null
  const { type, min, max, minLength, maxLength } = field
  if (type === 'checkbox') return field.required && value !== true ? 'Must be ticked.' : null
  if (type === 'number') {
    const number = Number(value)
    if (!Number.isFinite(number)) return 'Must be a number.'
    if (typeof min === 'number' && number < min) return `Must be at least ${min}.`
    if (typeof max === 'number' && number > max) return `Must be at most ${max}.`
  }
  if ((type === 'text' || type === 'textarea') && typeof value === 'string') {
    const length = Array.from(value).length
    if (minLength !== undefined && length < minLength) return `Must have at least ${minLength} characters.`
    if (maxLength !== undefined && length > maxLength) return `Must have at most ${maxLength} characters.`
  }
  if (Array.isArray(value)) {
    if (typeof min === 'number' && value.length < min) return `Choose at least ${min}.`
    if (typeof max === 'number' && value.length > max) return `Choose at most ${max}.`
  }
  return null
}

/** What is sent: what is on screen and filled in, with numbers as numbers. */
export function valuesToSend(fields: Iterable<FormField>, values: FormValues): FormValues {
  const sent: FormValues = {}
  for (const field of fields) {
    const value = valueOf(values, field.name)
    if (isEmpty(value)) continue
    sent[field.name] = field.type === 'number' ? Number(value) : value!
  }
  return sent
}

/** A name may be that of something every object has. */
export function valueOf(values: FormValues, name: string): Json | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}

function isEmpty(value: Json | undefined): boolean {
  if (value === undefined || value === null) return true
  if (typeof value === 'string') return value.trim() === ''
  return Array.isArray(value) && value.length === 0
}

/** For several choices it is enough that one of them fits. */
function holds({ visibleWhen }: FormField, parent: FormField, value: Json | undefined): boolean {
  const { equals, in: list } = visibleWhen!
  const wanted = new Set((list ?? [equals ?? null]).map(canonicalJson))
  const typed = parent.type === 'number' && typeof value === 'string' ? Number(value) : value
  const actual = typed ?? (parent.type === 'checkbox' ? false : null)
  if (wanted.has(canonicalJson(actual))) return true
  return Array.isArray(actual) && actual.some((entry) => wanted.has(canonicalJson(entry)))
}
