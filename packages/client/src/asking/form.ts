import {
  AskbackError,
  copyJson,
  formFromSchema,
  ignoreRejection,
  issuesOf,
  parseWith,
  valuesForSchema,
  type FormValues,
  type Interaction,
  type SchemaForm,
  type StandardSchema,
} from '@askback/protocol'
import type { FormOptions } from './askback.js'
import { answeredAs, type AskedRequest } from './asked-request.js'

/** What a form accepted: the schema's output, or what the schema says against it. */
export type CheckedForm<Value> =
  | { fits: true; value: Value }
  | { fits: false; values: FormValues; problems: string }

/**
 * A form for a schema. The rules of the form are checked by the desk, which asks again by itself. The schema may have more rules: where
 * those refuse the values, `again` makes the request that asks for them once more.
 */
export class FormFromSchema<Value> {
  readonly #schema: StandardSchema<Value>
  readonly #form: SchemaForm
  readonly #message: string
  readonly #initialValues: FormValues
  readonly #defaultAnswer: FormValues | undefined

  constructor(schema: StandardSchema<Value>, { message, initialValues, defaultAnswer }: FormOptions) {
    this.#form = formFromSchema(schema)
    this.#schema = schema
    this.#message = message ?? this.#form.description ?? 'Please fill in this form.'
    this.#initialValues = { ...this.#form.initialValues, ...initialValues }
    this.#defaultAnswer = defaultAnswer
    // A schema that is asynchronous for any value is refused before anybody is asked.
    const probe = schema['~standard'].validate({})
    if ('then' in probe) {
      ignoreRejection(probe)
      throw asynchronous()
    }
    if (defaultAnswer)
      parseWith(schema, this.#valuesOf(defaultAnswer), { code: 'invalid_request', what: 'defaultAnswer' })
  }

  first(): AskedRequest<CheckedForm<Value>> {
    return this.#request(this.#message, this.#initialValues)
  }

  /** Asks once more for values that the schema refused, and says why. */
  again(values: FormValues, problems: string): AskedRequest<CheckedForm<Value>> {
    return this.#request(`${this.#message}\n\nThis does not fit yet:\n${problems}`, values)
  }

  #request(message: string, initialValues: FormValues): AskedRequest<CheckedForm<Value>> {
    const hasValues = Object.keys(initialValues).length > 0
    return {
      kind: 'form',
      request: copyJson({
        message,
        schema: { fields: this.#form.fields },
        ...(hasValues && { initialValues }),
      }),
      ...(this.#defaultAnswer && { defaultAnswer: { values: this.#defaultAnswer } }),
      read: (interaction) => ({ value: this.#check(interaction) }),
    }
  }

  #check(interaction: Interaction): CheckedForm<Value> {
    const { values } = answeredAs(interaction, 'form').answer
    const result = this.#schema['~standard'].validate(this.#valuesOf(values))
    if ('then' in result) {
      ignoreRejection(result)
      throw asynchronous()
    }
    if (!result.issues) return { fits: true, value: result.value }
    const lines = issuesOf(result.issues).map(({ path, message }) =>
      path ? `- ${path}: ${message}` : `- ${message}`,
    )
    return { fits: false, values, problems: lines.join('\n') }
  }

  #valuesOf(values: FormValues): FormValues {
    return valuesForSchema(this.#form, values)
  }
}

function asynchronous(): AskbackError {
  return new AskbackError(
    'invalid_request',
    'The schema of the form is asynchronous; use one that validates at once.',
  )
}
