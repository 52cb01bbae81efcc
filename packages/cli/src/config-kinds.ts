import { defineInteraction, type InteractionKind } from '@askback/core'
import { errorMessage, isRecord } from '@askback/protocol'
import * as z from 'zod'

/** Kinds that exist already. */
const BUILT_IN = ['question', 'approval', 'plan_review', 'form']

/**
 * The kinds of a settings file, checked. In place of a Standard Schema, a kind may give a JSON Schema, so that a settings file in JSON can
 * define kinds, too. `refuse` makes the error that is thrown for the first that is not valid.
 */
export function kindsOfConfig(given: unknown[], refuse: (why: string) => Error): InteractionKind[] {
  const kinds = given.map((each, index) => {
    try {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `defineInteraction` checks it
      return defineInteraction(withSchemas(each) as InteractionKind)
    } catch (error) {
      throw refuse(`do not fit at kinds.${index}: ${errorMessage(error)}`)
    }
  })
  const names = kinds.map(({ kind }) => kind)
  const builtIn = names.find((name) => BUILT_IN.includes(name))
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
