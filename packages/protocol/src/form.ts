import { z } from 'zod'
import { json } from './approval.js'
import type { Json } from './json.js'

export const formFieldType = z.enum([
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
])

const choice = z.object({ value: z.union([z.string(), z.number(), z.boolean()]), label: z.string().optional() })

const visibleWhen = z.union([
  z.strictObject({ field: z.string(), equals: json }),
  z.strictObject({ field: z.string(), in: z.array(json).min(1) }),
])

export const formField = z.object({
  name: z.string().min(1, 'must not be empty'),
  type: formFieldType,
  label: z.string().optional(),
  description: z.string().optional(),
  required: z.boolean().optional(),
  min: z.union([z.number(), z.string()]).optional(),
  max: z.union([z.number(), z.string()]).optional(),
  step: z.number().positive().optional(),
  minLength: z.int().min(0).optional(),
  maxLength: z.int().min(0).optional(),
  pattern: z.string().optional(),
  options: z.array(choice).optional(),
  visibleWhen: visibleWhen.optional(),
})

export const formSchema = z.union([
  z.object({ fields: z.array(formField).min(1, 'must have at least one field') }),
  z.object({
    sections: z.array(z.object({ title: z.string().optional(), fields: z.array(formField) })).min(1),
  }),
])

const values = z.record(z.string(), json)

export const formRequest = z.object({
  message: z.string(),
  schema: formSchema,
  initialValues: values.optional(),
})

export const formAnswer = z.strictObject({ values })

export type FormField = z.infer<typeof formField>
export type FormSchema = z.infer<typeof formSchema>
export type FormRequest = z.infer<typeof formRequest>
export type FormValues = Record<string, Json>
export type FormAnswer = z.infer<typeof formAnswer>
export type FormErrors = Record<string, string>
