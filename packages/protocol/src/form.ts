import * as z from 'zod'
import { canonicalJson } from './digest.js'
import { json, type Json } from './json.js'

/** The log stores answers for as long as the session exists, for everyone who may read it. */
const SECRET = 'asks for a secret; forms are kept in the log, so send the person to a URL instead'

/** The types of fields. */
export const formFieldType = z.enum(
  [
    'text',
    'textarea',
    'number',
    'boolean',
    'select',
    'multiselect',
    'checkbox',
    'radio',
    'date',
    'time',
    'datetime',
  ],
  { error: (issue) => (issue.input === 'password' ? SECRET : undefined) },
)

const fieldOption = z.object({
  value: z.union([z.string(), z.number(), z.boolean()]),
  label: z.string().optional(),
})

const visibleWhen = z
  .strictObject({
    field: z.string(),
    equals: json.optional(),
    in: z.array(json).min(1, 'must not be empty').optional(),
  })
  .refine(
    ({ equals, in: list }) => (equals === undefined) !== (list === undefined),
    'must have either `equals` or `in`',
  )

const fieldShape = z.object({
  name: z.string().min(1, 'must not be empty'),
  type: formFieldType,
  label: z.string().optional(),
  description: z.string().optional(),
  required: z.boolean().optional(),
  min: z.union([z.number(), z.string()]).optional(),
  max: z.union([z.number(), z.string()]).optional(),
  step: z.number().positive('must be more than 0').optional(),
  minLength: z.int().min(0).optional(),
  maxLength: z.int().min(0).optional(),
  pattern: z.string().optional(),
  options: z.array(fieldOption).optional(),
  visibleWhen: visibleWhen.optional(),
})

/** Checks the field as it was sent: the shape above drops `secret` and the other properties that mark a secret. */
export const formField = z
  .unknown()
  .superRefine((field, context) => {
    if (isSecret(field)) context.addIssue({ code: 'custom', message: SECRET })
  })
  .pipe(fieldShape)

const fields = z.array(formField)

/** The fields of a form, in a list or in sections. */
export const formSchema = z
  .object({
    fields: fields.optional(),
    sections: z.array(z.object({ title: z.string().optional(), fields })).optional(),
  })
  .refine(
    (schema) => (schema.fields === undefined) !== (schema.sections === undefined),
    'must have either `fields` or `sections`',
  )
  .refine((schema) => fieldsOf(schema).length > 0, 'must have at least one field')

const values = z.record(z.string(), json)

/** A form to fill in. */
export const formRequest = z.object({
  message: z.string(),
  schema: formSchema,
  initialValues: values.optional(),
})

/** The values of the visible fields. */
export const formAnswer = z.strictObject({ values })

export type FormField = z.infer<typeof formField>
export type FormFieldType = z.infer<typeof formFieldType>
export type FormSchema = z.infer<typeof formSchema>
export type FormRequest = z.infer<typeof formRequest>
/** The values of a form, by field. */
export type FormValues = Record<string, Json>
export type FormAnswer = z.infer<typeof formAnswer>
/** What is wrong with the values of a form, by field. */
export type FormErrors = Record<string, string>

/** All fields of all sections, in the order they are shown. */
export function fieldsOf(schema: {
  fields?: FormField[] | undefined
  sections?: { fields: FormField[] }[] | undefined
}): FormField[] {
  return schema.fields ?? schema.sections?.flatMap((section) => section.fields) ?? []
}

/** The only field of a form, if that takes a text: then a typed message can answer the form. Else `null`. */
export function singleTextField(request: FormRequest): FormField | null {
  const [field, ...others] = fieldsOf(request.schema)
  if (!field || others.length > 0) return null
  return field.type === 'text' || field.type === 'textarea' ? field : null
}

/**
 * The fields that are shown with these values; an answer has values of these alone. A field that depends on a hidden field
 * is hidden too, whatever value that one has, and so are fields that depend on each other in a circle.
 */
export function visibleFields(fields: readonly FormField[], values: ReadonlyMap<string, Json>): FormField[] {
  const byName = new Map(fields.map((field) => [field.name, field]))
  const visibility = new Map<FormField, boolean>()
  // Canonical JSON of each field that others depend on. Without this cache a long value would be written once per dependent.
  const comparableValues = new Map<FormField, ReadonlySet<string>>()

  const isConditionMet = ({ visibleWhen }: FormField, parent: FormField): boolean => {
    const actual = comparableValues.get(parent) ?? comparable(parent, values.get(parent.name))
    comparableValues.set(parent, actual)
    const { equals, in: list } = visibleWhen!
    return (list ?? [equals ?? null]).some((wanted) => actual.has(canonicalJson(wanted)))
  }

  const isVisible = (field: FormField): boolean => {
    const known = visibility.get(field)
    if (known !== undefined) return known
    // Hidden until decided: that is what ends a circle.
    visibility.set(field, false)
    const parent = field.visibleWhen && byName.get(field.visibleWhen.field)
    const visible = !parent || (isVisible(parent) && isConditionMet(field, parent))
    visibility.set(field, visible)
    return visible
  }
  return fields.filter(isVisible)
}

/**
 * What a condition is compared with, as canonical JSON: the value, and each of its entries if it is a list. `null` stands for
 * a value that was left out.
 */
function comparable(field: FormField, value: Json | undefined): ReadonlySet<string> {
  // A checkbox that nobody touched counts as not ticked.
  const actual = value ?? (field.type === 'checkbox' ? false : null)
  return new Set([actual, ...(Array.isArray(actual) ? actual : [])].map((each) => canonicalJson(each)))
}

function isSecret(field: unknown): boolean {
  if (typeof field !== 'object' || field === null) return false
  return Object.entries(field).some(([key, value]: [string, unknown]) => {
    if (key === 'secret' || key === 'writeOnly')
      return value !== undefined && value !== null && value !== false
    return (key === 'format' || key === 'type') && value === 'password'
  })
}
