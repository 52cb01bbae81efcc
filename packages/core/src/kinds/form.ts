import {
  AskbackError,
  fieldsOf,
  formAnswer,
  formRequest,
  visibleFields,
  type FormAnswer,
  type FormErrors,
  type FormField,
  type FormRequest,
  type FormValues,
  type Json,
} from '@askback/protocol'
import { PatternBudget } from './form-patterns.js'
import { checkFormRequest } from './form-request.js'
import { fieldError, hasJsonType, isLeftOut, jsonTypeOf } from './form-values.js'
import { defineInteraction } from './kinds.js'

export const formKind = defineInteraction<FormRequest, FormAnswer>({
  kind: 'form',
  presentation: 'questionnaire',
  request: formRequest,
  answer: formAnswer,
  checkRequest: checkFormRequest,
  settle(request, answer) {
    const given = readValues(request, answer.values)
    const values: FormValues = {}
    const errors: FormErrors = {}
    const budget = new PatternBudget()
    for (const field of visibleFields(fieldsOf(request.schema), given)) {
      const value = given.get(field.name)
      checkType(field, value)
      const error = fieldError(field, value, budget)
      if (error !== null) errors[field.name] = error
      else if (value !== undefined) values[field.name] = value
    }
    if (Object.keys(errors).length > 0) return { errors }
    return { settlement: 'answered', answer: { values } }
  },
})

/** Returns the values by name, without those left empty. Throws for a name that the form does not have: no surface sends one. */
function readValues(request: FormRequest, values: FormValues): Map<string, Json> {
  const fields = new Map(fieldsOf(request.schema).map((field) => [field.name, field]))
  const given = new Map<string, Json>()
  for (const [name, value] of Object.entries(values)) {
    const field = fields.get(name)
    if (!field) reject(name, `The form has no field ${JSON.stringify(name)}.`)
    if (!isLeftOut(field, value)) given.set(name, value)
  }
  return given
}

function checkType(field: FormField, value: Json | undefined): void {
  if (value !== undefined && !hasJsonType(field, value))
    reject(field.name, `The field ${JSON.stringify(field.name)} takes ${jsonTypeOf(field)}.`)
}

function reject(field: string, message: string): never {
  throw new AskbackError('invalid_answer', message, { details: { field } })
}
