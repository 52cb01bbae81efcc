import type { FormField, FormFieldType, Json } from '@askback/protocol'
import { matchesPattern, PatternBudget } from './form-patterns.js'

/*
 * Which values a field of a form accepts. The rules are those of HTML's form controls, so that a browser and the server agree.
 */

/** Returns the message to show beside the field if the value is not valid, `null` if it is. */
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
      // As in HTML, a required box must be ticked, such as a consent.
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

/** Whether a control was left empty. Those of dates and times send an empty text then. */
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

/** As in HTML, the rules apply to texts that are not empty; an optional text may be empty. */
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
      return 'Does not match the required format.'
    case 'too_long':
      return 'Too long for the required format.'
  }
}

function numberError({ min, max, step }: FormField, value: number): string | null {
  if (typeof min === 'number' && value < min) return `Must be at least ${min}.`
  if (typeof max === 'number' && value > max) return `Must be at most ${max}.`
  const base = typeof min === 'number' ? min : 0
  if (step === undefined || isOnStep(value, { step, base })) return null
  return step === 1 && base === 0 ? 'Must be a whole number.' : `Must be ${base} plus a multiple of ${step}.`
}

function choicesError(field: FormField, values: Json[]): string | null {
  const { required, min, max } = field
  if (values.length === 0) return required ? 'Required.' : null
  if (!values.every((value) => isOption(field, value)))
    return 'Contains a value that is not one of the options.'
  if (new Set(values).size < values.length) return 'Contains an option twice.'
  if (typeof min === 'number' && values.length < min) return `Choose at least ${min}.`
  if (typeof max === 'number' && values.length > max) return `Choose at most ${max}.`
  return null
}

function momentError({ min, max }: FormField, type: MomentType, text: string): string | null {
  const moment = parseMoment(type, text)
  if (moment === null) return momentHints[type]
  if (typeof min === 'string' && moment < parseMoment(type, min)!) return `Must not be before ${min}.`
  if (typeof max === 'string' && moment > parseMoment(type, max)!) return `Must not be after ${max}.`
  return null
}

const momentHints = {
  date: 'Must be a real date, as in 2026-02-28.',
  time: 'Must be a time of day, as in 09:30.',
  datetime: 'Must be a real date and time, as in 2026-02-28T09:30.',
}

export function isOption({ options }: FormField, value: Json): boolean {
  return options !== undefined && optionSets(options).values.has(value)
}

function isOptionType({ options }: FormField, value: Json): boolean {
  return options !== undefined && optionSets(options).types.has(typeof value)
}

interface OptionSets {
  values: ReadonlySet<Json>
  types: ReadonlySet<string>
}

/** Sets, because looking up many choices in a list of many options takes quadratic time. */
const optionSetsCache = new WeakMap<NonNullable<FormField['options']>, OptionSets>()

function optionSets(options: NonNullable<FormField['options']>): OptionSets {
  const known = optionSetsCache.get(options)
  if (known) return known
  const values = options.map(({ value }) => value)
  const sets = {
    values: new Set<Json>(values),
    types: new Set<string>(values.map((value) => typeof value)),
  }
  optionSetsCache.set(options, sets)
  return sets
}

/** In code points, which are closer to what a person counts than UTF-16 units. */
function lengthOf(text: string): number {
  let length = 0
  for (const _ of text) length += 1
  return length
}

function characters(n: number): string {
  return n === 1 ? '1 character' : `${n} characters`
}

export type MomentType = Extract<FormFieldType, 'date' | 'time' | 'datetime'>

export function isMoment(type: FormFieldType): type is MomentType {
  return type === 'date' || type === 'time' || type === 'datetime'
}

/**
 * Parses a date `2026-02-28`, a time of day `09:30[:15[.250]]`, or both joined by `T`, as the controls of HTML send them. A
 * datetime may end in `Z` or an offset (RFC 3339). Returns milliseconds to compare by, for which a datetime without offset
 * counts as UTC; `null` if it is not valid, such as 30 February.
 */
export function parseMoment(type: MomentType, text: string): number | null {
  switch (type) {
    case 'date':
      return parseDate(text)
    case 'time':
      return parseTime(text)
    case 'datetime': {
      const [, day = '', time = '', offset = ''] =
        /^(\d{4}-\d{2}-\d{2})T([\d:.]+)(Z|[+-]\d{2}:\d{2})?$/.exec(text) ?? []
      const parts = [parseDate(day), parseTime(time), parseOffset(offset)] as const
      return parts[0] === null || parts[1] === null || parts[2] === null
        ? null
        : parts[0] + parts[1] - parts[2]
    }
    default:
      return type satisfies never
  }
}

function parseDate(text: string): number | null {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? []
  if (day === undefined) return null
  const at = Date.parse(`${year}-${month}-${day}T00:00:00Z`)
  // `Date.parse` reads some days that do not exist as days of the next month.
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text) && year !== '0000' ? at : null
}

function parseTime(text: string): number | null {
  const [, hours, minutes, seconds = '0', fraction = '0'] =
    /^(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?$/.exec(text) ?? []
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59 || hours === undefined) return null
  return (
    ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000 + Number(`0.${fraction}`) * 1000
  )
}

function parseOffset(text: string): number | null {
  if (text === '' || text === 'Z') return 0
  const time = parseTime(text.slice(1))
  return time === null ? null : text.startsWith('-') ? -time : time
}

/** Whether `value` is `base` plus a multiple of `step`, computed in decimals: in binary 0.3 is not a multiple of 0.1. */
function isOnStep(value: number, { step, base }: { step: number; base: number }): boolean {
  const [a, b, c] = [decimalOf(value), decimalOf(base), decimalOf(step)]
  const places = Math.max(a.places, b.places, c.places)
  const scaled = (part: Decimal) => part.digits * 10n ** BigInt(places - part.places)
  return (scaled(a) - scaled(b)) % scaled(c) === 0n
}

interface Decimal {
  digits: bigint
  places: number
}

/** `digits / 10^places`, from the shortest decimal text of the number. */
function decimalOf(value: number): Decimal {
  const [mantissa = '0', exponent = '0'] = String(value).split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  return { digits: BigInt(whole + fraction), places: fraction.length - Number(exponent) }
}
