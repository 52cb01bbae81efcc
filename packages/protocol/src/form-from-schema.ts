/**
 * Makes a form out of a schema of zod, valibot, arktype or any other library of Standard Schema: each property of the object becomes one
 * field. The form only helps the person: rules that a form does not have, such as a refinement, stay with the schema, which checks
 * the values once more after they were sent. What no control can ask, such as a list of objects, is refused before anybody is asked, or
 * asked as JSON where the caller allows that.
 */
import { AskbackError, errorMessage } from './errors.js'
import type { FormField, FormValues } from './form.js'
import { copyJson, listOf, objectOf } from './json.js'
import type { StandardSchema } from './standard-schema.js'

/** A form that asks for the values of a schema. */
export interface SchemaForm {
  /** What the schema says about itself: its description, or else its title. */
  description?: string
  fields: FormField[]
  /** The defaults of the schema. */
  initialValues: FormValues
  /** The fields that are `null`, and not left out, if the person leaves them empty. */
  nullable: string[]
  /** The fields in which the person writes JSON, because no control asks for their values. */
  json: string[]
}

/** A JSON Schema of draft 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>
type FieldRules = Pick<FormField, 'type'> & Partial<FormField>

/** Texts that may be longer get a control of several lines. */
const MAX_ONE_LINE = 200
/** A pattern that repeats more often would cost more than a form allows. */
const MAX_REPEATS = 50
const JSON_RULES: FieldRules = { type: 'textarea' }

/**
 * The form for a schema. Throws `invalid_request`, with the field, for a schema that a form cannot ask.
 *
 * @example
 * formFromSchema(z.object({ port: z.number().int().min(1) })).fields
 * // [{ name: 'port', type: 'number', min: 1, step: 1, required: true }]
 */
export function formFromSchema(schema: StandardSchema): SchemaForm {
  return formFromJsonSchema(jsonSchemaOf(schema), { unaskable: 'refuse' })
}

/**
 * The form for the object that a JSON Schema describes. `unaskable` says what happens to a property that no control can ask: it is
 * refused, or it becomes a text field for JSON.
 *
 * @internal
 */
export function formFromJsonSchema(
  root: JsonSchema,
  { unaskable }: { unaskable: 'refuse' | 'json' },
): SchemaForm {
  const resolve = (node: unknown) => resolveReference(root, objectOf(node))
  const properties = Object.entries(objectOf(root['properties']))
  if (root['type'] !== 'object' || properties.length === 0)
    throw refuse('it must be an object with properties')
  const required = listOf(root['required'])
  const form: SchemaForm = { fields: [], initialValues: {}, nullable: [], json: [] }
  const description = root['description'] ?? root['title']
  if (typeof description === 'string') form.description = description
  for (const [name, node] of properties) {
    const property = resolve(node)
    const { value, isNullable } = withoutNull(property, resolve)
    const isRequired = required.includes(name) && !isNullable
    const rules = fieldRules(value, resolve)
    const isJson = typeof rules === 'string'
    if (isJson && unaskable === 'refuse')
      throw refuse(`its property ${JSON.stringify(name)} is ${rules}`, { field: name })
    const words = { ...wordsOf(value), ...wordsOf(property) }
    form.fields.push({ name, ...words, ...(isJson ? JSON_RULES : rules), required: isRequired })
    if (isJson) form.json.push(name)
    const initial = property['default'] ?? value['default']
    if (initial !== undefined && initial !== null)
      form.initialValues[name] = isJson ? JSON.stringify(initial, null, 2) : copyJson(initial, 'default')
    if (isNullable && required.includes(name)) form.nullable.push(name)
  }
  return form
}

/**
 * The values as the schema takes them: an empty optional text counts as left out, a nullable field that was left out is `null`, and a
 * moment has an offset, which controls do not send and JSON Schema demands. As in the rules of forms, it counts as UTC.
 *
 * @internal
 */
export function valuesForSchema(
  form: Pick<SchemaForm, 'fields' | 'nullable'>,
  values: FormValues,
): FormValues {
  const result: FormValues = Object.fromEntries(form.nullable.map((name) => [name, null]))
  for (const { name, type, required } of form.fields) {
    const value = values[name]
    if (value === undefined || (value === '' && !required)) continue
    result[name] = type === 'datetime' && typeof value === 'string' ? withOffset(value) : value
  }
  return result
}

function withOffset(moment: string): string {
  if (/(?:Z|[+-]\d{2}:\d{2})$/u.test(moment)) return moment
  return /T\d{2}:\d{2}$/u.test(moment) ? `${moment}:00Z` : `${moment}Z`
}

/**
 * The JSON Schema of the values that a schema takes. Throws `invalid_request` if it cannot say that.
 *
 * @internal
 */
export function jsonSchemaOf(schema: StandardSchema): JsonSchema {
  const standard = schema?.['~standard']
  if (typeof standard?.validate !== 'function')
    throw new AskbackError(
      'invalid_request',
      'A form takes a schema of zod, valibot, arktype or another library of Standard Schema.',
    )
  if (!standard.jsonSchema)
    throw refuse(
      'it cannot say its JSON Schema. Schemas of zod (from 4.2) and arktype (from 2.1.28) can; wrap one of valibot in toStandardJsonSchema() of @valibot/to-json-schema',
    )
  try {
    return standard.jsonSchema.input({ target: 'draft-2020-12' })
  } catch (error) {
    throw refuse(`it cannot say its JSON Schema: ${errorMessage(error).replace(/[.\s]+$/u, '')}`)
  }
}

/** The rules of the control that asks for a value, or in words why there is none. */
function fieldRules(property: JsonSchema, resolve: (node: unknown) => JsonSchema): FieldRules | string {
  const options = optionsOf(property, resolve)
  if (options === 'mixed') return 'a choice between values of several forms'
  if (options) return { type: 'select', options }
  switch (property['type']) {
    case 'boolean':
      return { type: 'boolean' }
    case 'integer':
      return { type: 'number', ...bounds(property, 1), step: stepOf(property) ?? 1 }
    case 'number': {
      const step = stepOf(property)
      return { type: 'number', ...bounds(property, 0), ...(step !== undefined && { step }) }
    }
    case 'string':
      return textRules(property)
    case 'array':
      return listRules(property, resolve)
    case 'object':
      return 'an object of its own'
    default:
      return 'of a type that a form does not have'
  }
}

function textRules(property: JsonSchema): FieldRules {
  const { format, minLength, maxLength, pattern } = property
  if (format === 'date' || format === 'time') return { type: format }
  if (format === 'date-time') return { type: 'datetime' }
  const isLong = typeof maxLength === 'number' && maxLength > MAX_ONE_LINE
  return {
    type: isLong ? 'textarea' : 'text',
    ...(typeof minLength === 'number' && { minLength }),
    ...(typeof maxLength === 'number' && { maxLength }),
    // The desk knows what must not be asked in a form, such as a password.
    ...(format === 'password' && { format }),
    ...(format === undefined && isFormPattern(pattern) && { pattern }),
  }
}

/** Forms match whole texts in linear time. A pattern that they would read differently or refuse is left to the schema. */
function isFormPattern(pattern: unknown): pattern is string {
  if (typeof pattern !== 'string' || !/^\^.*\$$/su.test(pattern)) return false
  const hasLookAround = /\(\?(?!:)|\\[1-9]|\\k/u.test(pattern)
  const repeats = [...pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/gu)].flatMap(([, min, max]) => [min, max])
  return !hasLookAround && repeats.every((count) => Number(count ?? 0) <= MAX_REPEATS)
}

function listRules(property: JsonSchema, resolve: (node: unknown) => JsonSchema): FieldRules | string {
  const options = optionsOf(resolve(property['items']), resolve)
  if (!options || options === 'mixed') return 'a list of free values'
  const { minItems, maxItems } = property
  return {
    type: 'multiselect',
    options,
    ...(typeof minItems === 'number' && { min: minItems }),
    ...(typeof maxItems === 'number' && { max: Math.min(maxItems, options.length) }),
  }
}

/** The values to choose from; `null` if the property is no choice. */
function optionsOf(
  property: JsonSchema,
  resolve: (node: unknown) => JsonSchema,
): NonNullable<FormField['options']> | 'mixed' | null {
  const { enum: list, const: only } = property
  const alternatives = listOf(property['anyOf'] ?? property['oneOf']).map(resolve)
  if (Array.isArray(list)) return plainOptions(list.map((value: unknown) => ({ value })))
  if (only !== undefined) return plainOptions([{ value: only, label: property['title'] }])
  if (alternatives.length === 0) return null
  return plainOptions(alternatives.map((each) => ({ value: each['const'], label: each['title'] })))
}

function plainOptions(
  options: { value: unknown; label?: unknown }[],
): NonNullable<FormField['options']> | 'mixed' {
  const plain = options.flatMap(({ value, label }) =>
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
      ? [{ value, ...(typeof label === 'string' && { label }) }]
      : [],
  )
  return plain.length === options.length ? plain : 'mixed'
}

/** `integerStep` is 1 for whole numbers, of which the next one is the first beyond an exclusive bound. */
function bounds(property: JsonSchema, integerStep: 0 | 1): Pick<FormField, 'min' | 'max'> {
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below } = property
  const min = largest(minimum, integerStep && typeof above === 'number' ? Math.floor(above) + 1 : above)
  const max = smallest(maximum, integerStep && typeof below === 'number' ? Math.ceil(below) - 1 : below)
  return { ...(min !== null && { min }), ...(max !== null && { max }) }
}

function largest(...values: unknown[]): number | null {
  const given = values.filter(isUsableBound)
  return given.length === 0 ? null : Math.max(...given)
}

function smallest(...values: unknown[]): number | null {
  const given = values.filter(isUsableBound)
  return given.length === 0 ? null : Math.min(...given)
}

/** Libraries describe a whole number with the bounds of exact numbers, which tell a person nothing. */
function isUsableBound(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) < Number.MAX_SAFE_INTEGER
}

/** A form counts its steps from `min`, so a step is only used where that makes no difference. */
function stepOf({ multipleOf: step, minimum = 0 }: JsonSchema): number | undefined {
  return typeof step === 'number' && typeof minimum === 'number' && minimum % step === 0 ? step : undefined
}

/** A value that may be `null` is a field that may be left empty. */
function withoutNull(
  property: JsonSchema,
  resolve: (node: unknown) => JsonSchema,
): { value: JsonSchema; isNullable: boolean } {
  const { type, anyOf, enum: list } = property
  if (Array.isArray(type)) {
    const [only, ...others] = type.filter((each) => each !== 'null') as unknown[]
    return {
      value: { ...property, type: others.length === 0 ? only : type },
      isNullable: type.includes('null'),
    }
  }
  if (Array.isArray(list) && list.includes(null))
    return {
      value: { ...property, enum: list.filter((each) => each !== null) as unknown[] },
      isNullable: true,
    }
  if (!Array.isArray(anyOf)) return { value: property, isNullable: false }
  const others = anyOf.map(resolve).filter((each) => each['type'] !== 'null')
  const isNullable = others.length < anyOf.length
  const value = others.length === 1 ? others[0]! : { ...property, anyOf: others }
  return { value: isNullable ? value : property, isNullable }
}

function wordsOf({ title, description }: JsonSchema): Pick<FormField, 'label' | 'description'> {
  return {
    ...(typeof title === 'string' && { label: title }),
    ...(typeof description === 'string' && { description }),
  }
}

/** Follows a reference inside of the same schema, such as `#/$defs/Port`. */
function resolveReference(root: JsonSchema, node: JsonSchema): JsonSchema {
  const { $ref: reference } = node
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return node
  const keys = reference.slice(2).split('/')
  return keys.reduce<JsonSchema>(
    (at, key) => objectOf(at[key.replaceAll('~1', '/').replaceAll('~0', '~')]),
    root,
  )
}

function refuse(why: string, details?: { field: string }): AskbackError {
  return new AskbackError('invalid_request', `This schema cannot be asked as a form: ${why}.`, { details })
}
