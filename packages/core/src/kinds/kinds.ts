import {
  AskbackError,
  copyJson,
  ignoreRejection,
  isRecord,
  parseWith,
  presentation,
  type Json,
  type KindCard,
  type Presentation,
  type SettlementKind,
  type StandardSchema,
} from '@askback/protocol'

export { parseWith, type StandardSchema }

/** How a valid answer settles an interaction. */
export interface AcceptedAnswer {
  settlement: Extract<SettlementKind, 'answered' | 'approved' | 'denied'>
  answer: Json
  message?: string
}

/** The answer is well-formed but not valid: the person is asked again, with these messages by field name (L6). */
export interface Reprompt {
  errors: Record<string, string>
}

/** What can be asked, and which answers are valid: see `defineInteraction`. */
export interface InteractionKind<Request = unknown, Answer = unknown> {
  /** Its name on the wire: lower case letters, digits and `_`. */
  kind: string
  /** Whether it stands alone, like a question, or at its tool call. */
  presentation: Presentation
  /**
   * What is asked for, in a few words for people.
   *
   * @default its name: “Time slot” for `time_slot`
   */
  title?: string
  request: StandardSchema<Request>
  answer: StandardSchema<Answer>
  /**
   * The schemas only validate, they never change a value. Then values need not be copied before they are parsed.
   *
   * @default false
   */
  plain?: true
  /**
   * JSON Schemas of what `request` and `answer` take, for schemas that cannot say it themselves. Surfaces without a renderer make a form of
   * the answer's; without one, people write their answer as JSON.
   *
   * @default what the schemas say, if their library implements Standard JSON Schema
   */
  jsonSchema?: { request?: Record<string, unknown>; answer?: Record<string, unknown> }
  /**
   * A better drawing for surfaces without a renderer, such as a terminal or a chat: a title, a text in place of the request, and
   * what to choose from. It gets the output of the request's schema. If it throws, the request is shown as it is.
   *
   * @example
   * card: ({ purpose, slots }) => ({ title: 'When?', text: purpose, fields: { slot: { options: slots } } })
   */
  card?(request: Request): KindCard
  /** Throws `invalid_request` for a request that fits the schema but cannot be asked. */
  checkRequest?(request: Request): void
  /**
   * Throws `invalid_answer` for an answer that fits the schema but not the request.
   *
   * @default every answer that fits the schema settles as `answered`
   */
  settle?(request: Request, answer: Answer): AcceptedAnswer | Reprompt
}

/**
 * Defines a kind of interaction. With this on the server and a renderer on the client, agents can ask for it. Throws
 * `invalid_request` if the definition is not complete. Schemas must be synchronous.
 *
 * @example
 * const rating = defineInteraction({
 *   kind: 'rating',
 *   presentation: 'questionnaire',
 *   request: z.object({ subject: z.string() }),
 *   answer: z.object({ stars: z.number().int().min(1).max(5) }),
 * })
 * const desk = createDesk({ store, kinds: [rating] })
 */
export function defineInteraction<Request, Answer>(
  definition: InteractionKind<Request, Answer>,
): InteractionKind<Request, Answer> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an embedder without types may pass anything: each field is checked below
  const unchecked = Object(definition) as Partial<InteractionKind>
  const {
    kind,
    presentation: shown,
    title,
    request,
    answer,
    jsonSchema,
    card,
    checkRequest,
    settle,
  } = unchecked
  const reject = (why: string): never => {
    throw new AskbackError('invalid_request', `The kind ${JSON.stringify(kind)} ${why}.`)
  }
  if (typeof kind !== 'string' || !/^[a-z][a-z0-9_]*$/.test(kind))
    reject('must be lower case letters, digits and "_"')
  if (!presentation.safeParse(shown).success)
    reject(`must have one of these as its presentation: ${presentation.options.join(', ')}`)
  for (const [name, schema] of Object.entries({ request, answer }))
    if (typeof schema?.['~standard']?.validate !== 'function') reject(`has no Standard Schema as its ${name}`)
  if (title !== undefined && (typeof title !== 'string' || title.trim() === ''))
    reject('has a title that is no text')
  if (jsonSchema !== undefined && !isRecord(jsonSchema)) reject('has a jsonSchema that is no object')
  for (const [name, schema] of Object.entries(jsonSchema ?? {}))
    if (!isRecord(schema)) reject(`has a JSON Schema for its ${name} that is no object`)
  for (const [name, rule] of Object.entries({ checkRequest, settle, card }))
    if (rule !== undefined && typeof rule !== 'function') reject(`has a ${name} that is no function`)
  return definition
}

/** Throws if two kinds have the same name: an embedder must not be able to redefine what an approval is. */
export function kindsByName(kinds: InteractionKind[]): ReadonlyMap<string, InteractionKind> {
  const byName = new Map<string, InteractionKind>()
  for (const given of kinds) {
    const kind = defineInteraction(given)
    if (byName.has(kind.kind)) {
      throw new AskbackError('invalid_request', `The kind ${JSON.stringify(kind.kind)} is defined twice.`)
    }
    byName.set(kind.kind, kind)
  }
  return byName
}

/** Returns the value to parse. It is a copy if the schemas may change it, because the log must contain what was sent. */
export function forSchema({ plain }: InteractionKind, value: Json): Json {
  return plain ? value : copyJson(value, 'value')
}

/** Returns the result of a function of the kind. Throws if it is a promise. */
export function atOnce<Result>({ kind }: InteractionKind, name: string, result: Result): Result {
  if (!(result instanceof Promise)) return result
  ignoreRejection(result)
  throw new AskbackError('internal', `The kind ${kind} is asynchronous: its ${name} must answer at once.`)
}

/** Parses what a caller of the library passed in. */
export function parseInput<Output>(schema: StandardSchema<Output>, value: unknown, what: string): Output {
  return parseWith(schema, value, { code: 'invalid_request', what })
}
