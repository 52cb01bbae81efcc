/**
 * What a kind that an embedder defined says about itself: JSON Schemas for programs, and for people a form that every surface can show
 * without a renderer. Code of the embedder runs here (`card`, a library's description of a schema). If it fails, the error is reported, and
 * the request is still asked: with less help, at worst as JSON.
 */
import {
  AskbackError,
  asAskbackError,
  errorMessage,
  formFromJsonSchema,
  isBuiltInKind,
  jsonSchemaOf,
  kindCard,
  objectOf,
  parseWith,
  SINGLE_FIELD,
  type FormField,
  type Interaction,
  type Json,
  type JsonSchema,
  type KindCard,
  type KindCardField,
  type KindDescription,
  type KindPrompt,
  type KindPromptResult,
} from '@askback/protocol'
import { checkFormRequest } from './form-request.js'
import { optional } from '../optional.js'
import { atOnce, forSchema, type InteractionKind } from './kinds.js'

/** A longer description would slow down every start of a client; its values are asked as JSON. In characters. */
const MAX_SCHEMA_LENGTH = 200_000

/** The JSON Schemas of a kind, and for each that is missing the reason in words. */
export interface DescribedKind extends KindDescription {
  problems: string[]
}

const described = new WeakMap<InteractionKind, DescribedKind>()

/**
 * Describes a kind, once for each definition. Never throws: a schema that cannot be described is `null`, and `problems` says why.
 *
 * @example
 * for (const kind of desk.kinds) for (const problem of describeKind(kind).problems) console.warn(problem)
 */
export function describeKind(kind: InteractionKind): DescribedKind {
  const known = described.get(kind)
  if (known) return known
  const problems: string[] = []
  const schemaOf = (part: 'request' | 'answer'): Record<string, unknown> | null => {
    try {
      return { ...checkedSchema(kind.jsonSchema?.[part] ?? jsonSchemaOf(kind[part])) }
    } catch (error) {
      const why = errorMessage(error).replace(/^This schema cannot be asked as a form: it /u, '')
      const effect = part === 'answer' ? ' People without a renderer write their answer as JSON.' : ''
      problems.push(`The ${part} of the kind ${kind.kind} has no JSON Schema: ${why}${effect}`)
      return null
    }
  }
  const description = {
    kind: kind.kind,
    title: kind.title ?? titleOf(kind.kind),
    presentation: kind.presentation,
    request: schemaOf('request'),
    answer: schemaOf('answer'),
    problems,
  }
  described.set(kind, description)
  return description
}

/** The description without its problems, which only the operator needs. */
export function descriptionOf(definition: InteractionKind): KindDescription {
  const { kind, title, presentation, request, answer } = describeKind(definition)
  return { kind, title, presentation, request, answer }
}

/** The schema, if it is JSON of a sensible length. */
function checkedSchema(schema: JsonSchema): JsonSchema {
  const text = JSON.stringify(schema)
  if (text.length > MAX_SCHEMA_LENGTH)
    throw new AskbackError('invalid_request', `it is longer than ${MAX_SCHEMA_LENGTH} characters.`)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a copy of the schema, without what is no JSON
  return JSON.parse(text) as JsonSchema
}

/** `time_slot` as people read it: Time slot. */
function titleOf(kind: string): string {
  const words = kind.replaceAll('_', ' ').trim()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** How to ask a person for the answer to an interaction, or why nobody can answer it here. */
export function promptFor(
  interaction: Interaction,
  kind: InteractionKind | undefined,
  onError: (error: unknown) => void,
): KindPromptResult {
  const { kind: name, request } = interaction
  if (isBuiltInKind(name))
    throw new AskbackError('invalid_request', `Surfaces draw the kind ${name} themselves; it has no prompt.`)
  if (!kind)
    return {
      prompt: null,
      reason: `This gateway does not have the kind “${name}” any more, so nobody can answer this. It can be cancelled; or add the kind to the settings again, and restart the gateway.`,
    }
  const plain = plainPrompt(kind)
  const card = cardOf(kind, request, onError)
  if (!card) return { prompt: plain }
  try {
    return { prompt: withCard(plain, card, kind) }
  } catch (error) {
    onError(cardError(kind, error))
    return { prompt: plain }
  }
}

const plainPrompts = new WeakMap<InteractionKind, KindPrompt>()

/** The prompt without what `card` adds, which is the same for all requests of a kind. */
function plainPrompt(kind: InteractionKind): KindPrompt {
  const known = plainPrompts.get(kind)
  if (known) return known
  const { title, answer } = describeKind(kind)
  const prompt = { title, ...(answer ? formOf(answer) : jsonForm()) }
  plainPrompts.set(kind, prompt)
  return prompt
}

type PromptForm = Omit<KindPrompt, 'title' | 'text'>

function formOf(schema: JsonSchema): PromptForm {
  try {
    // A value that is no object is asked as if it were the only property of one.
    const single = schema['type'] !== 'object'
    const { $defs, definitions, ...only } = schema
    const root: JsonSchema = single
      ? { type: 'object', properties: { [SINGLE_FIELD]: only }, required: [SINGLE_FIELD], $defs, definitions }
      : schema
    const form = formFromJsonSchema(root, { unaskable: 'json' })
    // The schema itself checks patterns: those of a form are limited to what is safe from strangers.
    const fields = form.fields.map(({ pattern: _, ...field }) => field)
    const { initialValues, nullable, json } = form
    return checked({
      fields: single ? fields.map((field) => ({ label: 'Your answer', ...field })) : fields,
      initialValues,
      nullable,
      json,
      single,
    })
  } catch {
    return jsonForm()
  }
}

/** One field for the whole answer as JSON. */
function jsonForm(): PromptForm {
  const field: FormField = {
    name: SINGLE_FIELD,
    type: 'textarea',
    label: 'Your answer, as JSON',
    required: true,
  }
  return { fields: [field], initialValues: {}, nullable: [], json: [SINGLE_FIELD], single: true }
}

/** Throws for a form that nobody could fill in, such as one with 501 fields. */
function checked<Form extends PromptForm>(form: Form): Form {
  const { fields, initialValues } = form
  checkFormRequest({ message: '', schema: { fields }, initialValues })
  return form
}

/** What the embedder's `card` says, checked; `null` if there is none, or if it fails. */
function cardOf(kind: InteractionKind, request: Json, onError: (error: unknown) => void): KindCard | null {
  if (!kind.card) return null
  try {
    const asked = parseWith(kind.request, forSchema(kind, request), {
      code: 'invalid_request',
      what: 'the request',
    })
    const card = atOnce(kind, 'card', kind.card(asked))
    return parseWith(kindCard, card, { code: 'invalid_request', what: 'the card' })
  } catch (error) {
    onError(cardError(kind, error))
    return null
  }
}

function withCard(plain: KindPrompt, card: KindCard, kind: InteractionKind): KindPrompt {
  const { title, text, fields: about = {} } = card
  const unknown = Object.keys(about).find((name) => !plain.fields.some((field) => field.name === name))
  if (unknown !== undefined)
    throw new AskbackError('invalid_request', `The answer has no field ${JSON.stringify(unknown)}.`)
  const properties = describeKind(kind).answer?.['properties']
  const initialValues = { ...plain.initialValues }
  const chosen = new Set<string>()
  const fields = plain.fields.map((field) => {
    const given = Object.hasOwn(about, field.name) ? about[field.name] : undefined
    if (!given) return field
    const isJson = plain.json.includes(field.name)
    if (given.options) chosen.add(field.name)
    if (given.initial !== undefined)
      initialValues[field.name] =
        isJson && !given.options ? JSON.stringify(given.initial, null, 2) : given.initial
    return withCardField(field, given, isList(properties, field.name))
  })
  return checked({
    ...plain,
    ...(title !== undefined && { title }),
    ...(text !== undefined && { text }),
    fields,
    initialValues,
    json: plain.json.filter((name) => !chosen.has(name)),
  })
}

/** The field with what the card says about it. Options make a choice of it, of several if it takes a list. */
function withCardField(
  field: FormField,
  { label = field.label, description = field.description, options }: KindCardField,
  takesList: boolean,
): FormField {
  const { name, required } = field
  const shown = optional({ label, description })
  if (!options) return { ...field, ...shown }
  return {
    name,
    ...shown,
    ...optional({ required }),
    type: takesList ? 'multiselect' : 'radio',
    options: options.map((each) => (typeof each === 'object' ? each : { value: each })),
  }
}

function isList(properties: unknown, name: string): boolean {
  return objectOf(objectOf(properties)[name])['type'] === 'array'
}

function cardError({ kind }: InteractionKind, error: unknown): AskbackError {
  const { message } = asAskbackError(error)
  return new AskbackError('internal', `The card of the kind ${kind} is not used: ${message}`, {
    cause: error,
  })
}
