import {
  AskbackError,
  copyJson,
  presentation,
  type ErrorCode,
  type Json,
  type Presentation,
  type SettlementKind,
} from '@askback/protocol'

/** The part of Standard Schema (standardschema.dev) that a kind needs. Schemas of zod, valibot and arktype implement it. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
  }
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

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
  ignore(result)
  throw new AskbackError('internal', `The kind ${kind} is asynchronous: its ${name} must answer at once.`)
}

/** Nobody awaits this promise, so its rejection must not count as unhandled. */
function ignore(promise: PromiseLike<unknown>): void {
  promise.then(undefined, () => undefined)
}

/** Parses what a caller of the library passed in. */
export function parseInput<Output>(schema: StandardSchema<Output>, value: unknown, what: string): Output {
  return parseWith(schema, value, { code: 'invalid_request', what })
}

/** Returns the schema's output. Throws one error that says where and why the value does not fit. */
export function parseWith<Output>(
  schema: StandardSchema<Output>,
  value: unknown,
  options: { code: Extract<ErrorCode, 'invalid_request' | 'invalid_answer'>; what: string },
): Output {
  const result = schema['~standard'].validate(value)
  if ('then' in result) {
    ignore(result)
    throw new AskbackError(
      'invalid_request',
      `The schema of ${options.what} is asynchronous; use one that validates at once.`,
    )
  }
  if (!result.issues) return result.value
  const issues = result.issues.map((issue) => ({ path: pathOf(issue), message: issue.message }))
  const [first] = issues
  const where = first?.path ? ` at ${first.path}` : ''
  throw new AskbackError(
    options.code,
    `${capitalize(options.what)} does not fit${where}: ${first?.message ?? 'invalid'}.`,
    {
      details: { issues },
    },
  )
}

function pathOf(issue: SchemaIssue): string {
  const keys = issue.path?.map((part) => (typeof part === 'object' ? part.key : part)) ?? []
  return keys
    .map((key, index) => (typeof key === 'number' ? `[${key}]` : `${index > 0 ? '.' : ''}${String(key)}`))
    .join('')
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
