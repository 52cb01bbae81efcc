import {
  AskbackError,
  fieldsOf,
  type FormField,
  type FormFieldType,
  type FormRequest,
  type Json,
} from '@askback/protocol'
import { isMoment, readMoment } from './form-moments.js'
import { measurePattern } from './form-patterns.js'
import { hasJsonType, isOption, jsonTypeOf } from './form-values.js'

/** All patterns of a form together, so that many small ones do not add up to what one big one may not cost. */
const MAX_PROGRAMS = 1_000
/** More is no form that a person fills in; it also bounds the walks along `visibleWhen`. */
const MAX_FIELDS = 500

/** Throws `invalid_request` for a form that could not be filled in as it was meant. */
export function checkFormRequest(request: FormRequest): void {
  const fields = fieldsOf(request.schema)
  const byName = new Map<string, FormField>()
  if (fields.length > MAX_FIELDS)
    throw new AskbackError('invalid_request', `A form has at most ${MAX_FIELDS} fields.`)
  for (const field of fields) {
    if (byName.has(field.name)) refuse(field.name, 'is there twice')
    if (isPrototypeName(field.name)) refuse(field.name, 'has the name of a prototype key')
    byName.set(field.name, field)
  }
  let programs = 0
  for (const field of fields) {
    checkRules(field)
    checkOptions(field)
    checkRange(field)
    checkVisibility(field, byName)
    programs += patternSize(field)
    if (programs > MAX_PROGRAMS) refuse(field.name, 'makes the patterns of this form too costly together')
  }
  for (const [name, value] of Object.entries(request.initialValues ?? {})) checkInitial(name, value, byName)
}

type Rule = 'min' | 'max' | 'step' | 'minLength' | 'maxLength' | 'pattern' | 'options'

/** A rule that a type does not know is refused: ignored, it would promise a check that nobody makes. */
const rules: Record<FormFieldType, readonly Rule[]> = {
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
const allRules: readonly Rule[] = ['min', 'max', 'step', 'minLength', 'maxLength', 'pattern', 'options']

function checkRules(field: FormField): void {
  for (const rule of allRules) {
    if (field[rule] !== undefined && !rules[field.type].includes(rule)) {
      refuse(field.name, `is of type ${field.type}, which takes no \`${rule}\``)
    }
  }
}

function checkOptions({ name, type, options }: FormField): void {
  if (!rules[type].includes('options')) return
  if (!options || options.length === 0) refuse(name, 'needs `options`')
  const seen = new Set(options.map((option) => option.value))
  if (seen.size < options.length) refuse(name, 'has two options of the same value')
}

function checkRange(field: FormField): void {
  const { name, minLength, maxLength } = field
  const min = boundOf(field, 'min')
  const max = boundOf(field, 'max')
  if (min !== undefined && max !== undefined && min > max) refuse(name, 'has a `min` above its `max`')
  if (minLength !== undefined && maxLength !== undefined && minLength > maxLength) {
    refuse(name, 'has a `minLength` above its `maxLength`')
  }
  if (field.type === 'multiselect' && min !== undefined && min > field.options!.length) {
    refuse(name, 'has a `min` above the number of its options')
  }
}

/** Numbers for a number, how many may be chosen for a multiselect, and dates and times as texts of their own type. */
function boundOf(field: FormField, rule: 'min' | 'max'): number | undefined {
  const { name, type, [rule]: bound } = field
  if (bound === undefined) return undefined
  if (isMoment(type)) {
    const moment = typeof bound === 'string' ? readMoment(type, bound) : null
    return moment ?? refuse(name, `needs a ${type} as its \`${rule}\``)
  }
  if (typeof bound !== 'number') return refuse(name, `needs a number as its \`${rule}\``)
  if (type === 'multiselect' && !(Number.isInteger(bound) && bound >= 0)) {
    refuse(name, `needs a whole number of choices as its \`${rule}\``)
  }
  return bound
}

function checkVisibility(field: FormField, byName: ReadonlyMap<string, FormField>): void {
  const seen = new Set<string>()
  let at: FormField | undefined = field
  while (at?.visibleWhen) {
    if (seen.has(at.name)) return refuse(field.name, 'is visible depending on itself')
    seen.add(at.name)
    at = byName.get(at.visibleWhen.field)
    if (seen.size === 1) checkCondition(field, at)
  }
}

function checkCondition({ name, visibleWhen }: FormField, parent: FormField | undefined): void {
  if (!parent)
    return refuse(name, `depends on ${JSON.stringify(visibleWhen!.field)}, which is no field of this form`)
  for (const value of visibleWhen!.in ?? [visibleWhen!.equals!]) {
    if (
      value === null ||
      hasJsonType(parent, value) ||
      (parent.type === 'multiselect' && hasJsonType(parent, [value]))
    )
      continue
    refuse(name, `depends on ${JSON.stringify(parent.name)}, which takes ${jsonTypeOf(parent)}`)
  }
}

function patternSize({ name, pattern }: FormField): number {
  if (pattern === undefined) return 0
  const measured = measurePattern(pattern)
  return 'size' in measured ? measured.size : refuse(name, `has a \`pattern\` that ${measured.problem}`)
}

function checkInitial(name: string, value: Json, byName: ReadonlyMap<string, FormField>): void {
  const field = byName.get(name)
  if (!field) return refuse(name, 'has an initial value and is no field of this form')
  if (value === null) return
  if (!hasJsonType(field, value)) refuse(name, `has an initial value that is not ${jsonTypeOf(field)}`)
  // Anything else that does not pass can be seen, and corrected by who fills in the form.
  const isKnown = (Array.isArray(value) ? value : [value]).every((each) => isOption(field, each))
  if (field.options && !isKnown) refuse(name, 'has an initial value that is not one of its options')
}

function isPrototypeName(name: string): boolean {
  return name === 'prototype' || name in Object.prototype
}

function refuse(field: string, why: string): never {
  throw new AskbackError('invalid_request', `The field ${JSON.stringify(field)} ${why}.`, {
    details: { field },
  })
}
