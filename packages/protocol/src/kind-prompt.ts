/**
 * How a surface without a renderer asks for a kind that an embedder defined: a title, the request or a text in its place, and a form. The
 * gateway makes the form from the schema of the kind's answer, so surfaces need neither the schema nor a library for it.
 */
import * as z from 'zod'
import { errorMessage } from './errors.js'
import { formField, type FormErrors, type FormValues } from './form.js'
import { valuesForSchema } from './form-from-schema.js'
import { isRecord } from './guards.js'
import { json, type Json } from './json.js'

/** The name of the only field of a `single` prompt. */
export const SINGLE_FIELD = 'answer'

/** A form that asks for the answer of a custom kind. */
export const kindPrompt = z.object({
  /** What is asked for, in words of the kind's author. */
  title: z.string(),
  /** Shown in place of the request. Without it, the whole request is shown. */
  text: z.string().optional(),
  fields: z.array(formField),
  initialValues: z.record(z.string(), json),
  /** Fields that are `null`, and not left out, if they are left empty. */
  nullable: z.array(z.string()),
  /** Fields that hold JSON as a text. */
  json: z.array(z.string()),
  /** The answer is the value of the only field, and not an object that holds it. */
  single: z.boolean(),
})

/** How a surface without a renderer asks for a custom kind. */
export type KindPrompt = z.infer<typeof kindPrompt>

/** The form for an interaction, or why it cannot be answered. */
export const kindPromptResult = z.union([
  z.object({ prompt: kindPrompt }),
  z.object({
    prompt: z.null(),
    /** Why it cannot be answered, in a sentence for people. */
    reason: z.string(),
  }),
])

export type KindPromptResult = z.infer<typeof kindPromptResult>

const cardField = z.strictObject({
  label: z.string().optional(),
  description: z.string().optional(),
  /** What to choose from. A text is its own label. */
  options: z
    .array(
      z.union([
        z.string(),
        z.strictObject({
          value: z.union([z.string(), z.number(), z.boolean()]),
          label: z.string().optional(),
        }),
      ]),
    )
    .min(1, 'must not be empty')
    .optional(),
  /** The value that the field starts with. */
  initial: json.optional(),
})

/** What surfaces that show one thing at a time say about a request. */
export const kindCard = z.strictObject({
  /** One line above the request. */
  title: z.string().min(1, 'must not be empty').optional(),
  /** Shown in place of the request. */
  text: z.string().optional(),
  /** More about the fields of the answer, by their names in its schema. */
  fields: z.record(z.string(), cardField).optional(),
})

/** How surfaces without a renderer show a request: see `card` of `defineInteraction`. */
export type KindCard = z.infer<typeof kindCard>
/** One line of a card. */
export type KindCardField = z.infer<typeof cardField>

/** A kind that an embedder defined, as `GET /api/kinds` lists it. */
export const kindDescription = z.object({
  kind: z.string(),
  title: z.string(),
  presentation: z.string(),
  /** JSON Schemas of what the kind takes; `null` if its schema cannot say it. */
  request: z.record(z.string(), z.unknown()).nullable(),
  answer: z.record(z.string(), z.unknown()).nullable(),
  /** The ES module that draws it in the web app, relative to the address of the gateway. */
  renderer: z.string().optional(),
})

export type KindDescription = z.infer<typeof kindDescription>

/**
 * The answer of a kind from the values of its form; errors by field name if a field for JSON holds something else.
 *
 * @example
 * answerOfPrompt(prompt, { slot: 'Tuesday' }) // { answer: { slot: 'Tuesday' } }
 */
export function answerOfPrompt(
  prompt: KindPrompt,
  values: FormValues,
): { answer: Json } | { errors: FormErrors } {
  const given = valuesForSchema(prompt, values)
  const errors: FormErrors = {}
  for (const name of prompt.json) {
    const text = given[name]
    if (typeof text !== 'string') continue
    try {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `JSON.parse` returns nothing else
      given[name] = JSON.parse(text) as Json
    } catch (error) {
      errors[name] = `This is not JSON: ${errorMessage(error)}`
    }
  }
  if (Object.keys(errors).length > 0) return { errors }
  return { answer: prompt.single ? (given[SINGLE_FIELD] ?? null) : given }
}

/** The values of the form for an answer that was sent, for example to correct it. */
export function valuesOfAnswer(prompt: KindPrompt, answer: Json | undefined): FormValues {
  const given: Record<string, Json | undefined> = prompt.single
    ? { [SINGLE_FIELD]: answer }
    : isRecord(answer)
      ? answer
      : {}
  const values: FormValues = {}
  for (const { name } of prompt.fields) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    if (value === undefined || value === null) continue
    values[name] = prompt.json.includes(name) ? JSON.stringify(value, null, 2) : value
  }
  return values
}
