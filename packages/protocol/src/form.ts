import { z } from 'zod'
import { json } from './approval.js'
import type { Json } from './json.js'

const SECRET = 'asks for a secret; forms are kept in the log, so send the person to a URL instead'

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

const choice = z.object({
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
  options: z.array(choice).optional(),
  visibleWhen: visibleWhen.optional(),
})

/** Looks at the field as it came: the shape above would drop the very marks that say it is a secret. */
export const formField = z
  .unknown()
  .superRefine((field, context) => {
    if (isSecret(field)) context.addIssue({ code: 'custom', message: SECRET })
  })
  .pipe(fieldShape)

const fields = z.array(formField)

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

export const formRequest = z.object({
  message: z.string(),
  schema: formSchema,
  initialValues: values.optional(),
})

export const formAnswer = z.strictObject({ values })

export type FormField = z.infer<typeof formField>
export type FormFieldType = z.infer<typeof formFieldType>
export type FormSchema = z.infer<typeof formSchema>
export type FormRequest = z.infer<typeof formRequest>
export type FormValues = Record<string, Json>
export type FormAnswer = z.infer<typeof formAnswer>
export type FormErrors = Record<string, string>

/** All fields in the order they are shown, over all sections. */
export function fieldsOf(schema: {
  fields?: FormField[] | undefined
  sections?: { fields: FormField[] }[] | undefined
}): FormField[] {
  return schema.fields ?? schema.sections?.flatMap((section) => section.fields) ?? []
}

function isSecret(field: unknown): boolean {
  if (typeof field !== 'object' || field === null) return false
  return Object.entries(field).some(([key, mark]: [string, unknown]) => {
    if (key === 'secret' || key === 'writeOnly') return mark !== undefined && mark !== null && mark !== false
    return (key === 'format' || key === 'type') && mark === 'password'
  })
}
