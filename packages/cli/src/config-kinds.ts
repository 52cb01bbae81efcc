import { defineInteraction, type InteractionKind, type StandardSchema } from '@askback/core'
import { errorMessage, ignoreRejection, isBuiltInKind, isRecord } from '@askback/protocol'
import * as z from 'zod'

/**
 * The kinds of a settings file, checked. In place of a Standard Schema, a kind may give a JSON Schema, so that a settings file in JSON can
 * define kinds, too. `refuse` makes the error that is thrown for the first that is not valid.
 */
export function kindsOfConfig(given: unknown[], refuse: (why: string) => Error): InteractionKind[] {
  const kinds = given.map((each, index) => {
    try {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `defineInteraction` checks it
      return checkedKind(defineInteraction(withSchemas(each) as InteractionKind))
    } catch (error) {
      throw refuse(`do not fit at kinds.${index}: ${errorMessage(error)}`)
    }
  })
  const names = kinds.map(({ kind }) => kind)
  const builtIn = names.find(isBuiltInKind)
  if (builtIn !== undefined)
    throw refuse(`define the kind "${builtIn}", which Askback has itself. Give yours another name.`)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw refuse(`define the kind "${twice}" twice.`)
  return kinds
}

function withSchemas(kind: unknown): unknown {
  if (!isRecord(kind)) return kind
  return {
    ...kind,
    request: schemaFrom(kind['request'], 'request'),
    answer: schemaFrom(kind['answer'], 'answer'),
  }
}

function schemaFrom(schema: unknown, name: string): unknown {
  if (!isRecord(schema) || '~standard' in schema) return schema
  try {
    return z.fromJSONSchema(schema)
  } catch (error) {
    throw new Error(`its ${name} is a JSON Schema that cannot be used: ${errorMessage(error)}`, {
      cause: error,
    })
  }
}

/** A schema that is asynchronous for any value is refused before somebody asks with it. */
function checkedKind(kind: InteractionKind): InteractionKind {
  for (const name of ['request', 'answer'] as const) {
    if (!isAsynchronous(kind[name])) continue
    throw new Error(
      `The kind ${JSON.stringify(kind.kind)} has an asynchronous schema as its ${name}; use one that validates at once.`,
    )
  }
  return kind
}

function isAsynchronous(schema: StandardSchema): boolean {
  try {
    const result = schema['~standard'].validate(undefined)
    if (!('then' in result)) return false
    ignoreRejection(result)
    return true
  } catch {
    // It fails for this value only.
    return false
  }
}
