import { AskbackError, errorMessage, type ErrorCode } from './errors.js'

/** The part of Standard Schema (standardschema.dev) that kinds and forms need. Schemas of zod, valibot and arktype implement it. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
    /** Describes the values that the schema takes as JSON Schema. Forms need it; it throws for a schema that JSON cannot describe. */
    readonly jsonSchema?:
      | { readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown> }
      | undefined
  }
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

/** Why and where a value does not fit a schema. */
export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/**
 * Returns the schema's output. Throws one error that says where and why the value does not fit.
 *
 * @internal
 */
export function parseWith<Output>(
  schema: StandardSchema<Output>,
  value: unknown,
  options: { code: Extract<ErrorCode, 'invalid_request' | 'invalid_answer'>; what: string },
): Output {
  const result = validated(schema, value, options)
  if ('then' in result) {
    ignoreRejection(result)
    // zod answers later, too, if a rule of the schema throws.
    throw new AskbackError(
      'invalid_request',
      `The schema of ${options.what} is asynchronous, or one of its rules throws for this value; use one that validates at once.`,
    )
  }
  if (!result.issues) return result.value
  const issues = issuesOf(result.issues)
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

/** A schema of an embedder may throw, for example in a rule that did not expect this value. */
function validated<Output>(
  schema: StandardSchema<Output>,
  value: unknown,
  { code, what }: { code: ErrorCode; what: string },
): ReturnType<StandardSchema<Output>['~standard']['validate']> {
  try {
    return schema['~standard'].validate(value)
  } catch (error) {
    if (error instanceof AskbackError) throw error
    throw new AskbackError(code, `The schema of ${what} fails for this value: ${errorMessage(error)}`, {
      cause: error,
    })
  }
}

/**
 * The issues as they are shown, each with its path as text: `servers[0].port`.
 *
 * @internal
 */
export function issuesOf(issues: readonly SchemaIssue[]): { path: string; message: string }[] {
  return issues.map((issue) => ({ path: pathOf(issue), message: issue.message }))
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

/**
 * Nobody awaits this promise, so its rejection must not count as unhandled.
 *
 * @internal
 */
export function ignoreRejection(promise: PromiseLike<unknown>): void {
  promise.then(undefined, () => undefined)
}
