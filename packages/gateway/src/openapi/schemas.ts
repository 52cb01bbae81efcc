import {
  actor,
  adoptedItem,
  approvalAnswer,
  approvalRequest,
  approvalScope,
  formAnswer,
  formField,
  formRequest,
  interaction,
  json,
  kindDescription,
  liveEvent,
  onTimeout,
  openBody,
  permissionMode,
  planReviewAnswer,
  planReviewRequest,
  presentation,
  questionAnswer,
  questionReply,
  questionRequest,
  respondBody,
  session,
  sessionEvent,
  sessionStatus,
  sessionTags,
  via,
} from '@askback/protocol'
import * as z from 'zod'
import type { ApiRoute } from '../route.js'
import { agent, eventPageBody, interactionBody, ok, rule, settledBody, toolCall } from '../routes/schemas.js'

export type SchemaNode = Record<string, unknown>

/** An object with properties, as zod describes it. */
export interface ObjectSchema extends SchemaNode {
  properties: Record<string, SchemaNode>
  required: string[]
}

/** The schemas that routes share, by the name that a generated client gives them. */
const SHARED: [name: string, schema: z.ZodType, description: string][] = [
  ['Json', json, 'Any JSON value.'],
  ['Actor', actor, 'A person, as their credential names them.'],
  ['Via', via, 'The surface that an answer came from; `policy` where no person decided.'],
  ['PermissionMode', permissionMode, 'Which tool calls need the approval of a person.'],
  ['ApprovalScope', approvalScope, 'For how long an approval holds.'],
  ['SessionStatus', sessionStatus, '`waiting` while something is pending.'],
  ['SessionTags', sessionTags, 'What the program around Askback knows of a session.'],
  ['Presentation', presentation, 'Whether it is shown in its tool call or as a card of its own.'],
  ['OnTimeout', onTimeout, 'What happens at the deadline.'],
  ['QuestionRequest', questionRequest, 'One to four questions, each with options.'],
  [
    'QuestionReply',
    questionReply,
    'The answer to one question: labels of options, a text of one’s own, or both.',
  ],
  ['QuestionAnswer', questionAnswer, 'One reply for each question, in their order.'],
  ['ApprovalRequest', approvalRequest, 'Whether a tool may run with exactly this `input`.'],
  ['ApprovalAnswer', approvalAnswer, 'The decision, and for how long it holds.'],
  ['PlanReviewRequest', planReviewRequest, 'A plan in Markdown.'],
  ['PlanReviewAnswer', planReviewAnswer, 'How to go on with the plan; `adjust` needs feedback.'],
  ['FormRequest', formRequest, 'Fields to fill in.'],
  ['FormAnswer', formAnswer, 'The values by the names of their fields.'],
  ['FormField', formField.out, 'One field of a form.'],
  ['Session', session, 'One conversation with one agent.'],
  ['Interaction', interaction, 'One request to a person and, once it is settled, its settlement.'],
  [
    'SessionEvent',
    sessionEvent,
    'An event of a log. Ignore types that you do not know, but count their `seq`.',
  ],
  ['LiveEvent', liveEvent, 'A part of a block that is being written. It is never stored, and has no `seq`.'],
  ['AdoptedItem', adoptedItem, 'One entry of the history of an adopted session.'],
  ['OpenInteractionBody', openBody, 'What to ask.'],
  ['RespondBody', respondBody, 'An answer to an interaction.'],
  [
    'KindDescription',
    kindDescription,
    'A kind of its own of this gateway, with JSON Schemas of request and answer.',
  ],
  ['Agent', agent, 'An agent that this gateway can run, or what is missing for it.'],
  ['ToolCall', toolCall, 'One use of a tool by an agent.'],
  ['Rule', rule, 'Approves calls that are equal to one that a person approved.'],
  [
    'EventPage',
    eventPageBody,
    'A part of a log, in order. `next` is the cursor of the next page; `null` at the end.',
  ],
  ['Ok', ok, 'It is done.'],
  ['InteractionResult', interactionBody, 'An interaction as it is now.'],
  ['SettledResult', settledBody, 'A settled interaction, and the events that settled it.'],
]

export interface NamedSchemas {
  /** By name, with references to each other. */
  schemas: Record<string, SchemaNode>
  /** A reference to the component of a body or a response. */
  refTo: (schema: z.ZodType) => SchemaNode
}

/** Names the schemas of all routes, so that a generated client has a type for each. Throws if two schemas get one name. */
export function nameSchemas(routes: ApiRoute[]): NamedSchemas {
  const names = z.registry<{ id: string; description?: string }>()
  for (const [id, schema, description] of SHARED) names.add(schema, { id, description })
  type Option = z.ZodObject<{ type: z.ZodLiteral<string> }>
  const unions: Record<string, SchemaNode> = {}
  const addUnion = (name: string, options: readonly Option[], nameOf: (type: string) => string) => {
    const cases = options.map((option): UnionCase => {
      const type = option.shape.type.value
      names.add(option, { id: nameOf(type) })
      return [type, nameOf(type)]
    })
    // zod says that exactly one case holds, and not by which property to tell.
    unions[name] = union('type', cases)
  }
  addUnion('SessionEvent', sessionEvent.options, (type) => `${pascalCase(type)}Event`)
  addUnion('LiveEvent', liveEvent.options, pascalCase)
  addUnion('AdoptedItem', adoptedItem.options, (type) => `Adopted${pascalCase(type)}`)
  const add = (schema: z.core.$ZodType, id: string) => void (names.has(schema) || names.add(schema, { id }))
  for (const { name, body, responses } of routes) {
    if (body) add(requiredBody(body), `${pascalCase(name)}Body`)
    for (const response of Object.values(responses)) {
      const schema = response instanceof z.ZodType ? response : response.json
      if (schema) add(schema, `${pascalCase(name)}Result`)
    }
  }
  const { schemas } = z.toJSONSchema(names, { ...OPTIONS, metadata: names, uri: reference })
  const components: Record<string, SchemaNode> = {}
  for (const [name, { $schema: _, $id: _id, id: _name, ...schema }] of Object.entries(schemas))
    components[name] = { ...schema, ...unions[name] }
  return { schemas: components, refTo: (schema) => ref(names.get(requiredBody(schema))!.id) }
}

export type UnionCase = readonly [value: string, name: string]

/** A schema of one of these, and which of them by the value of a property. */
export function union(property: string, cases: readonly UnionCase[]): SchemaNode {
  return {
    oneOf: cases.map(([, name]) => ref(name)),
    discriminator: {
      propertyName: property,
      mapping: Object.fromEntries(cases.map(([value, name]) => [value, reference(name)])),
    },
  }
}

export function ref(name: string): SchemaNode {
  return { $ref: reference(name) }
}

/** A schema without a name of its own, such as that of a parameter. */
export function schemaOf(schema: z.ZodType): SchemaNode {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, OPTIONS)
  return rest
}

/** The schema of the input. Additional fields are allowed, because later versions may add some. */
const OPTIONS = {
  io: 'input',
  unrepresentable: 'any',
  // Its input is unknown, because what marks a secret is refused before the shape is checked.
  override: ({ zodSchema, jsonSchema }: { zodSchema: unknown; jsonSchema: SchemaNode }) => {
    if (zodSchema === formField) jsonSchema['$ref'] = reference('FormField')
  },
} as const

export function reference(name: string): string {
  return `#/components/schemas/${name}`
}

/** `plan_review` becomes `PlanReview`, and `createSession` becomes `CreateSession`. */
export function pascalCase(name: string): string {
  return name.replaceAll(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

/** A body that may be left out has the same schema; its operation says that it is not required. */
function requiredBody(body: z.core.$ZodType): z.core.$ZodType {
  return body instanceof z.ZodOptional ? body.unwrap() : body
}
