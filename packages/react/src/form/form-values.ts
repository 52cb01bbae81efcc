import {
  canonicalJson,
  fieldsOf,
  formAnswer,
  spellOut,
  visibleFields,
  type FormField,
  type FormRequest,
  type FormValues,
  type Json,
} from '@askback/protocol'
import type { Translate } from '../labels.js'

/**
 * The values that a form starts with. A reprompt carries the refused answer: a field that was visible and is missing
 * there had been emptied, so it does not get its initial value back.
 */
export function startValues(request: FormRequest, progress: Json | undefined): FormValues {
  const { initialValues = {} } = request
  const refused = formAnswer.safeParse(progress)
  if (!refused.success) return initialValues
  const { values } = refused.data
  const shown = new Set([...shownFields(request, values)].map(({ name }) => name))
  const unseen = Object.entries(initialValues).filter(([name]) => !shown.has(name))
  return { ...Object.fromEntries(unseen), ...values }
}

/** Removes choices that are not among the options. No control shows them, so nobody could remove them. */
export function removeUnknownOptions({ schema }: FormRequest, values: FormValues): FormValues {
  const shown = { ...values }
  for (const { name, options } of fieldsOf(schema)) {
    const value = valueOf(values, name)
    if (!options || isEmpty(value)) continue
    const isOption = (each: Json) => options.some((option) => option.value === each)
    if (Array.isArray(value)) shown[name] = [...new Set(value.filter(isOption))]
    else if (!isOption(value!)) delete shown[name]
  }
  return shown
}

/** The visible fields. The value of a hidden field is not sent, and does not make other fields visible. */
export function shownFields({ schema }: FormRequest, values: FormValues): ReadonlySet<FormField> {
  const fields = fieldsOf(schema)
  return new Set(visibleFields(fields, new Map(Object.entries(valuesToSend(fields, values)))))
}

/**
 * Why a value cannot be sent, as far as the browser can tell. Patterns are left to the gateway: they come from an
 * agent, and only an engine that runs in linear time may try them.
 */
export function fieldError(field: FormField, value: Json | undefined, t: Translate): string | null {
  if (isEmpty(value)) return field.required ? t('Required.') : null
  const { type, min, max, minLength, maxLength } = field
  if (type === 'checkbox') return field.required && value !== true ? t('Must be ticked.') : null
  if (type === 'number') {
    const number = Number(value)
    if (!Number.isFinite(number)) return t('Must be a number.')
    if (Number.isInteger(number) && !Number.isSafeInteger(number)) return t('Too large to be kept exactly.')
    if (typeof min === 'number' && number < min) return t('Must be at least {min}.', { min })
    if (typeof max === 'number' && number > max) return t('Must be at most {max}.', { max })
  }
  if ((type === 'text' || type === 'textarea') && typeof value === 'string') {
    const length = Array.from(value).length
    if (minLength !== undefined && length < minLength)
      return t('Must have at least {min} characters.', { min: minLength })
    if (maxLength !== undefined && length > maxLength)
      return t('Must have at most {max} characters.', { max: maxLength })
  }
  if (Array.isArray(value)) {
    if (typeof min === 'number' && value.length < min) return t('Choose at least {min}.', { min })
    if (typeof max === 'number' && value.length > max) return t('Choose at most {max}.', { max })
  }
  return null
}

/**
 * The values that are sent: those that are filled in, with numbers as numbers. A text that is not a number yet is
 * included as it is.
 */
export function valuesToSend(fields: Iterable<FormField>, values: FormValues): FormValues {
  const sent: FormValues = {}
  for (const field of fields) {
    const value = valueOf(values, field.name)
    if (isEmpty(value)) continue
    const number = field.type === 'number' ? Number(value) : Number.NaN
    sent[field.name] = Number.isFinite(number) ? number : value!
  }
  return sent
}

/** Whether a field sends the same with both sets of values. */
export function isSameToSend(field: FormField, some: FormValues, others: FormValues): boolean {
  const [one, other] = [some, others].map((values) => canonicalJson(valuesToSend([field], values)))
  return one === other
}

/** Reads own properties only, as a field may be called `constructor`. */
export function valueOf(values: FormValues, name: string): Json | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}

function isEmpty(value: Json | undefined): boolean {
  if (value === undefined || value === null) return true
  if (typeof value === 'string') return value.trim() === ''
  return Array.isArray(value) && value.length === 0
}

/**
 * The label as a string with hidden characters spelled out, as the options of a native list can contain only text.
 */
export function optionLabel({ value, label }: NonNullable<FormField['options']>[number]): string {
  return spellOut(label ?? String(value), 'prose')
}
