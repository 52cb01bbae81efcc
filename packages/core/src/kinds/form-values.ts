import type { FormField, FormFieldType, Json } from '@askback/protocol'
import { isMoment, readMoment, type MomentType } from './form-moments.js'
import { isOnStep } from './form-numbers.js'
import { matchesPattern, PatternBudget } from './form-patterns.js'

/** Why a value of the right JSON type does not pass, in the words that stand beside the field; `null` if it does. */
export function fieldError(
  field: FormField,
  value: Json | undefined,
  budget = new PatternBudget(),
): string | null {
  if (value === undefined) return field.required ? 'Required.' : null
  const wrongType = () => `Must be ${jsonTypeOf(field)}.`
  switch (field.type) {
    case 'text':
    case 'textarea':
      return typeof value === 'string' ? textError(field, value, budget) : wrongType()
    case 'number':
      return typeof value === 'number' ? numberError(field, value) : wrongType()
    case 'boolean':
      return typeof value === 'boolean' ? null : wrongType()
    case 'checkbox':
      if (typeof value !== 'boolean') return wrongType()
      // As in HTML: a box that must be ticked, such as a consent, is not answered by leaving it empty.
      return field.required && !value ? 'Must be ticked.' : null
    case 'select':
    case 'radio':
      return isOption(field, value) ? null : 'Not one of the options.'
    case 'multiselect':
      return Array.isArray(value) ? choicesError(field, value) : wrongType()
    case 'date':
    case 'time':
    case 'datetime':
      return typeof value === 'string' ? momentError(field, field.type, value) : wrongType()
    default:
      return field.type satisfies never
  }
}

/** What an untouched control sends: nothing, or an empty text where only a date or time would do. */
export function isLeftOut(field: FormField, value: Json): boolean {
  return value === null || (value === '' && isMoment(field.type))
}

export function hasJsonType(field: FormField, value: Json): boolean {
  const type = jsonTypes[field.type]
  if (type === 'option') return isOptionType(field, value)
  if (type === 'options') return Array.isArray(value) && value.every((entry) => isOptionType(field, entry))
  return typeof value === type
}

export function jsonTypeOf(field: FormField): string {
  const type = jsonTypes[field.type]
  const option = [...new Set(field.options?.map(({ value }) => typeof value))].join(' or ')
  if (type === 'option') return `a ${option}`
  return type === 'options' ? `an array whose entries are each a ${option}` : `a ${type}`
}

const jsonTypes: Record<FormFieldType, 'string' | 'number' | 'boolean' | 'option' | 'options'> = {
  text: 'string',
  textarea: 'string',
  number: 'number',
  boolean: 'boolean',
  checkbox: 'boolean',
  select: 'option',
  radio: 'option',
  multiselect: 'options',
  date: 'string',
  time: 'string',
  datetime: 'string',
}

/** As in HTML, the rules of a text apply to a text that is there: one that is not required may stay empty. */
function textError(
  { required, minLength, maxLength, pattern }: FormField,
  text: string,
  budget: PatternBudget,
): string | null {
  if (required && text.trim() === '') return 'Required.'
  if (text === '') return null
  const length = lengthOf(text)
  if (minLength !== undefined && length < minLength) return `Must have at least ${characters(minLength)}.`
  if (maxLength !== undefined && length > maxLength) return `Must have at most ${characters(maxLength)}.`
  switch (pattern === undefined ? 'matches' : matchesPattern(pattern, text, budget)) {
    case 'matches':
      return null
    case 'differs':
      return 'Does not match the format asked for.'
    case 'too_long':
      return 'Too long for the format asked for.'
  }
}

function numberError({ min, max, step }: FormField, value: number): string | null {
  if (typeof min === 'number' && value < min) return `Must be at least ${min}.`
  if (typeof max === 'number' && value > max) return `Must be at most ${max}.`
  const base = typeof min === 'number' ? min : 0
  if (step === undefined || isOnStep(value, { step, base })) return null
  return step === 1 && base === 0
    ? 'Must be a whole number.'
    : `Must be ${base} or a number of steps of ${step} from it.`
}

function choicesError(field: FormField, values: Json[]): string | null {
  const { required, min, max } = field
  if (values.length === 0) return required ? 'Required.' : null
  if (!values.every((value) => isOption(field, value))) return 'Holds a value that is not one of the options.'
  if (new Set(values).size < values.length) return 'Holds an option twice.'
  if (typeof min === 'number' && values.length < min) return `Choose at least ${min}.`
  if (typeof max === 'number' && values.length > max) return `Choose at most ${max}.`
  return null
}

function momentError({ min, max }: FormField, type: MomentType, text: string): string | null {
  const moment = readMoment(type, text)
  if (moment === null) return momentHints[type]
  if (typeof min === 'string' && moment < readMoment(type, min)!) return `Must not be before ${min}.`
  if (typeof max === 'string' && moment > readMoment(type, max)!) return `Must not be after ${max}.`
  return null
}

const momentHints = {
  date: 'Must be a real date, as in 2026-02-28.',
  time: 'Must be a time of day, as in 09:30.',
  datetime: 'Must be a real date and time, as in 2026-02-28T09:30.',
}

export function isOption({ options }: FormField, value: Json): boolean {
  return options !== undefined && choicesOf(options).values.has(value)
}

function isOptionType({ options }: FormField, value: Json): boolean {
  return options !== undefined && choicesOf(options).types.has(typeof value)
}

interface Choices {
  values: ReadonlySet<Json>
  types: ReadonlySet<string>
}

/** As sets: many choices among many options would be looked up in a time that grows with the square of their number. */
const knownChoices = new WeakMap<NonNullable<FormField['options']>, Choices>()

function choicesOf(options: NonNullable<FormField['options']>): Choices {
  const known = knownChoices.get(options)
  if (known) return known
  const values = options.map(({ value }) => value)
  const choices = {
    values: new Set<Json>(values),
    types: new Set<string>(values.map((value) => typeof value)),
  }
  knownChoices.set(options, choices)
  return choices
}

/** In code points: what a person counts comes closer to those than to UTF-16 units. */
function lengthOf(text: string): number {
  let length = 0
  for (const _ of text) length += 1
  return length
}

function characters(n: number): string {
  return n === 1 ? '1 character' : `${n} characters`
}
