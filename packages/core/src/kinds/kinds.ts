import {
  AskbackError,
  copyJson,
  presentation,
  type ErrorCode,
  type Json,
  type Presentation,
  type SettlementKind,
} from '@askback/protocol'

/** The part of Standard Schema (standardschema.dev) that a kind needs; zod, valibot and arktype schemas have it. */
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

/** What becomes of an interaction when a person's answer fits. */
export interface Outcome {
  settlement: Extract<SettlementKind, 'answered' | 'approved' | 'denied'>
  answer: Json
  message?: string
}

/** Well-formed values that fail validation: the person is asked again with these beside the fields (L6). */
export interface Reprompt {
  errors: Record<string, string>
}

export interface InteractionKind<Request = unknown, Answer = unknown> {
  kind: string
  presentation: Presentation
  request: StandardSchema<Request>
  answer: StandardSchema<Answer>
  /** Its schemas change nothing, so that they need no copies and an answer need not parse the request once more. */
  plain?: true
  /** Beyond the schema: throws `invalid_request` for a request that cannot be asked. */
  checkRequest?(request: Request): void
  /** Throws `invalid_answer` for an answer that does not fit the request. Without it every parsed answer is `answered`. */
  settle?(request: Request, answer: Answer): Outcome | Reprompt
}

/**
 * A kind of one's own: this on the server and a renderer on the client are all that a new interactive tool needs.
 * Schemas must be synchronous.
 */
export function defineInteraction<Request, Answer>(
  definition: InteractionKind<Request, Answer>,
): InteractionKind<Request, Answer> {
  const given = Object(definition) as Partial<InteractionKind>
  const { kind, presentation: shown, request, answer, checkRequest, settle } = given
  const refuse = (why: string): never => {
    throw new AskbackError('invalid_request', `The kind ${JSON.stringify(kind)} ${why}.`)
  }
  if (typeof kind !== 'string' || !/^[a-z][a-z0-9_]*$/.test(kind))
    refuse('must be lower case letters, digits and "_"')
  if (!presentation.safeParse(shown).success)
    refuse(`must have one of these as its presentation: ${presentation.options.join(', ')}`)
  for (const [name, schema] of Object.entries({ request, answer }))
    if (typeof schema?.['~standard']?.validate !== 'function') refuse(`has no Standard Schema as its ${name}`)
  for (const [name, rule] of Object.entries({ checkRequest, settle }))
    if (rule !== undefined && typeof rule !== 'function') refuse(`has a ${name} that is no function`)
  return definition
}

/** A kind that is there cannot be replaced: what an approval is must not depend on what else is defined. */
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

/** What its schemas get to see: some fill in what is left out, and the log must hold what was sent. */
export function forSchema({ plain }: InteractionKind, value: Json): Json {
  return plain ? value : copyJson(value, 'value')
}

/** What one of its functions returned, which must not be a promise. */
export function atOnce<Result>({ kind }: InteractionKind, name: string, result: Result): Result {
  if (!(result instanceof Promise)) return result
  ignore(result)
  throw new AskbackError('internal', `The kind ${kind} is asynchronous: its ${name} must answer at once.`)
}

/** Nobody will hear of its end, so that must not count as unhandled. */
function ignore(promise: PromiseLike<unknown>): void {
  promise.then(undefined, () => undefined)
}

/** What a caller of the library passed in. */
export function parseInput<Output>(schema: StandardSchema<Output>, value: unknown, what: string): Output {
  return parseWith(schema, value, { code: 'invalid_request', what })
}

/** The schema's output, or one error that says where and why. */
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
