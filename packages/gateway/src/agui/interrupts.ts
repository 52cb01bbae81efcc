import {
  approvalAnswer,
  approvalRequest,
  fieldsOf,
  formRequest,
  planReviewAnswer,
  questionRequest,
  type FormField,
  type Interaction,
  type Json,
} from '@askback/protocol'
import * as z from 'zod'

/** `Interrupt` of AG-UI: an interaction that a run waits for. Its id is that of the interaction. */
export interface Interrupt {
  id: string
  reason: 'tool_call' | 'input_required' | 'confirmation'
  message: string
  toolCallId?: string
  /** The JSON Schema of the answer. Missing for kinds that an embedder has defined. */
  responseSchema?: ResponseSchema
  expiresAt?: string
  metadata: { askback: object }
}

type ResponseSchema = Record<string, unknown>

export function interruptOf(interaction: Interaction): Interrupt {
  const { interactionId, sessionId, toolCallId, toolName, kind, request, digest, errors } = interaction
  const { expiresAt, onTimeout } = interaction
  const described = describe(interaction)
  return {
    id: interactionId,
    ...described,
    ...(described.reason === 'tool_call' && { toolCallId }),
    // What stays open behind its deadline can be answered then, too; a client would refuse to.
    ...(expiresAt !== undefined && onTimeout !== 'keep' && { expiresAt: new Date(expiresAt).toISOString() }),
    metadata: {
      askback: { sessionId, kind, toolName, toolCallId, request, digest, ...(errors && { errors }) },
    },
  }
}

function describe({
  kind,
  toolName,
  request,
}: Interaction): Pick<Interrupt, 'reason' | 'message' | 'responseSchema'> {
  switch (kind) {
    case 'approval': {
      const { title = `${toolName} wants to run.` } = approvalRequest.parse(request)
      return { reason: 'tool_call', message: title, responseSchema: schemaOf(approvalAnswer) }
    }
    case 'plan_review':
      return {
        reason: 'confirmation',
        message: 'A plan wants to be reviewed.',
        responseSchema: schemaOf(planReviewAnswer),
      }
    case 'question': {
      const { questions } = questionRequest.parse(request)
      const message = questions.map(({ question }) => question).join('\n')
      return { reason: 'input_required', message, responseSchema: questionSchema(questions) }
    }
    case 'form': {
      const { message, schema } = formRequest.parse(request)
      return { reason: 'input_required', message, responseSchema: formSchema(fieldsOf(schema)) }
    }
    default:
      return { reason: 'input_required', message: `${toolName} asks something.` }
  }
}

function schemaOf(schema: z.ZodType): ResponseSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return rest
}

function questionSchema(questions: z.infer<typeof questionRequest>['questions']): ResponseSchema {
  const replies = questions.map(({ question, options, multiSelect }) => ({
    type: 'object',
    title: question,
    properties: {
      selected: {
        type: 'array',
        ...(options.length > 0 && { items: { enum: options.map(({ label }) => label) } }),
        maxItems: multiSelect ? options.length : Math.min(options.length, 1),
      },
      other: { type: 'string' },
      note: { type: 'string' },
    },
    required: ['selected'],
    additionalProperties: false,
  }))
  const answers = { type: 'array', prefixItems: replies, minItems: replies.length, maxItems: replies.length }
  return object({ answers }, ['answers'])
}

function formSchema(fields: FormField[]): ResponseSchema {
  const properties = Object.fromEntries(fields.map((field) => [field.name, fieldSchema(field)]))
  // A field that another one hides must be left out, so it is not required here.
  const required = fields.filter((field) => field.required && !field.visibleWhen).map(({ name }) => name)
  return object({ values: object(properties, required) }, ['values'])
}

function fieldSchema(field: FormField): ResponseSchema {
  const { type, label, description, options, min, max, minLength, maxLength } = field
  const about = {
    ...(label !== undefined && { title: label }),
    ...(description !== undefined && { description }),
  }
  const values = options && { enum: options.map(({ value }): Json => value) }
  switch (type) {
    case 'number':
      return {
        type: 'number',
        ...about,
        ...(typeof min === 'number' && { minimum: min }),
        ...(typeof max === 'number' && { maximum: max }),
      }
    case 'boolean':
    case 'checkbox':
      return { type: 'boolean', ...about }
    case 'select':
    case 'radio':
      return { ...about, ...values }
    case 'multiselect':
      return { type: 'array', ...about, ...(values && { items: values }) }
    case 'text':
    case 'textarea':
    case 'date':
    case 'time':
    case 'datetime':
      return {
        type: 'string',
        ...about,
        ...(minLength !== undefined && { minLength }),
        ...(maxLength !== undefined && { maxLength }),
      }
  }
}

function object(properties: Record<string, unknown>, required: string[]): ResponseSchema {
  return { type: 'object', properties, required, additionalProperties: false }
}
