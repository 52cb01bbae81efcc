import {
  AskbackError,
  copyJson,
  ignoreRejection,
  parseWith,
  presentation,
  type Json,
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
  /** How surfaces show it that have no renderer for this kind. */
  presentation: Presentation
  request: StandardSchema<Request>
  answer: StandardSchema<Answer>
  /**
   * The schemas only validate, they never change a value. Then values need not be copied before they are parsed.
   *
   * @default false
   */
  plain?: true
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
  const { kind, presentation: shown, request, answer, checkRequest, settle } = unchecked
  const reject = (why: string): never => {
    throw new AskbackError('invalid_request', `The kind ${JSON.stringify(kind)} ${why}.`)
  }
  if (typeof kind !== 'string' || !/^[a-z][a-z0-9_]*$/.test(kind))
    reject('must be lower case letters, digits and "_"')
  if (!presentation.safeParse(shown).success)
    reject(`must have one of these as its presentation: ${presentation.options.join(', ')}`)
  for (const [name, schema] of Object.entries({ request, answer }))
    if (typeof schema?.['~standard']?.validate !== 'function') reject(`has no Standard Schema as its ${name}`)
  for (const [name, rule] of Object.entries({ checkRequest, settle }))
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
