import {
  AskbackError,
  fieldsOf,
  type FormField,
  type FormFieldType,
  type FormRequest,
  type Json,
} from '@askback/protocol'
import { measurePattern } from './form-patterns.js'
import { hasJsonType, isMoment, isOption, jsonTypeOf, parseMoment } from './form-values.js'

/** The instructions of all compiled patterns of a form together. */
const MAX_PATTERN_INSTRUCTIONS = 1_000
/** No person fills in more. It also bounds the search along chains of `visibleWhen`. */
const MAX_FIELDS = 500

/** Throws `invalid_request` for a form that nobody could fill in, or whose rules would not be checked. */
export function checkFormRequest(request: FormRequest): void {
  const fields = fieldsOf(request.schema)
  const byName = new Map<string, FormField>()
  if (fields.length > MAX_FIELDS)
    throw new AskbackError('invalid_request', `A form has at most ${MAX_FIELDS} fields.`)
  for (const field of fields) {
    if (byName.has(field.name)) reject(field.name, 'is defined twice')
    if (isPrototypeName(field.name)) reject(field.name, 'has the name of a prototype key')
    byName.set(field.name, field)
  }
  let instructions = 0
  for (const field of fields) {
    checkRules(field)
    checkOptions(field)
    checkRange(field)
    checkVisibility(field, byName)
    instructions += patternSize(field)
    if (instructions > MAX_PATTERN_INSTRUCTIONS)
      reject(field.name, 'makes the patterns of this form too costly together')
  }
  for (const [name, value] of Object.entries(request.initialValues ?? {})) checkInitial(name, value, byName)
}

type FieldRule = 'min' | 'max' | 'step' | 'minLength' | 'maxLength' | 'pattern' | 'options'

/** The rules that each type has. Any other is rejected, because the agent would expect a check that does not happen. */
const rules: Record<FormFieldType, readonly FieldRule[]> = {
  text: ['minLength', 'maxLength', 'pattern'],
  textarea: ['minLength', 'maxLength', 'pattern'],
  number: ['min', 'max', 'step'],
  boolean: [],
  checkbox: [],
  select: ['options'],
  radio: ['options'],
  multiselect: ['options', 'min', 'max'],
  date: ['min', 'max'],
  time: ['min', 'max'],
  datetime: ['min', 'max'],
}
const allRules: readonly FieldRule[] = ['min', 'max', 'step', 'minLength', 'maxLength', 'pattern', 'options']

function checkRules(field: FormField): void {
  for (const rule of allRules) {
    if (field[rule] !== undefined && !rules[field.type].includes(rule)) {
      reject(field.name, `is of type ${field.type}, which takes no \`${rule}\``)
    }
  }
}

function checkOptions({ name, type, options }: FormField): void {
  if (!rules[type].includes('options')) return
  if (!options || options.length === 0) reject(name, 'needs `options`')
  const seen = new Set(options.map((option) => option.value))
  if (seen.size < options.length) reject(name, 'has two options of the same value')
}

function checkRange(field: FormField): void {
  const { name, minLength, maxLength } = field
  const min = boundOf(field, 'min')
  const max = boundOf(field, 'max')
  if (min !== undefined && max !== undefined && min > max) reject(name, 'has a `min` above its `max`')
  if (minLength !== undefined && maxLength !== undefined && minLength > maxLength) {
    reject(name, 'has a `minLength` above its `maxLength`')
  }
  if (field.type === 'multiselect' && min !== undefined && min > field.options!.length) {
    reject(name, 'has a `min` above the number of its options')
  }
}

/** The bound as a number: of a number field, of how many options may be chosen, or of a date or time. */
function boundOf(field: FormField, rule: 'min' | 'max'): number | undefined {
  const { name, type, [rule]: bound } = field
  if (bound === undefined) return undefined
  if (isMoment(type)) {
    const moment = typeof bound === 'string' ? parseMoment(type, bound) : null
    return moment ?? reject(name, `needs a ${type} as its \`${rule}\``)
  }
  if (typeof bound !== 'number') return reject(name, `needs a number as its \`${rule}\``)
  if (type === 'multiselect' && !(Number.isInteger(bound) && bound >= 0)) {
    reject(name, `needs a whole number of choices as its \`${rule}\``)
  }
  return bound
}

function checkVisibility(field: FormField, byName: ReadonlyMap<string, FormField>): void {
  const seen = new Set<string>()
  let at: FormField | undefined = field
  while (at?.visibleWhen) {
    if (seen.has(at.name)) return reject(field.name, 'is visible depending on itself')
    seen.add(at.name)
    at = byName.get(at.visibleWhen.field)
    if (seen.size === 1) checkCondition(field, at)
  }
}

function checkCondition({ name, visibleWhen }: FormField, parent: FormField | undefined): void {
  if (!parent)
    return reject(name, `depends on ${JSON.stringify(visibleWhen!.field)}, which is no field of this form`)
  for (const value of visibleWhen!.in ?? [visibleWhen!.equals!]) {
    if (
      value === null ||
      hasJsonType(parent, value) ||
      (parent.type === 'multiselect' && hasJsonType(parent, [value]))
    )
      continue
    reject(name, `depends on ${JSON.stringify(parent.name)}, which takes ${jsonTypeOf(parent)}`)
  }
}

function patternSize({ name, pattern }: FormField): number {
  if (pattern === undefined) return 0
  const measured = measurePattern(pattern)
  return 'size' in measured ? measured.size : reject(name, `has a \`pattern\` that ${measured.problem}`)
}

function checkInitial(name: string, value: Json, byName: ReadonlyMap<string, FormField>): void {
  const field = byName.get(name)
  if (!field) return reject(name, 'has an initial value and is no field of this form')
  if (value === null) return
  if (!hasJsonType(field, value)) reject(name, `has an initial value that is not ${jsonTypeOf(field)}`)
  // A person can see and correct any other invalid value, but not one that no control can show.
  const areOptions = (Array.isArray(value) ? value : [value]).every((each) => isOption(field, each))
  if (field.options && !areOptions) reject(name, 'has an initial value that is not one of its options')
}

function isPrototypeName(name: string): boolean {
  return name === 'prototype' || name in Object.prototype
}

function reject(field: string, why: string): never {
  throw new AskbackError('invalid_request', `The field ${JSON.stringify(field)} ${why}.`, {
    details: { field },
  })
}
