import type { Interaction, Json, KindDescription, OpenBody } from '@askback/protocol'
import { AskbackError } from '@askback/protocol/errors'
import { hasAnswer, isBuiltInKind } from '@askback/protocol/guards'
import { isInDoubt } from '@askback/protocol/in-doubt'
import { decisionForToolUse, requestForToolUse } from '../claude/claude-code.js'
import {
  answerMessage,
  IN_DOUBT_MESSAGE,
  isRefusal,
  planChangeMessage,
  refusalMessage,
} from '../session/model-messages.js'

export type Arguments = Record<string, Json>

/**
 * Asking a person changes nothing by itself. Without these hints clients assume that it does: `codex exec`, which cannot ask for
 * approval, then refuses the call.
 */
export const READ_ONLY_HINTS = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: false,
} as const

export interface AskTool {
  name: string
  title: string
  description: string
  inputSchema: { type: 'object'; properties?: Record<string, Json>; required?: string[] }
  annotations?: typeof READ_ONLY_HINTS
  /**
   * The kind of its requests. Such a request can outlive the call: the result may come later, from `wait_for_answer` or as a task.
   * A tool without it holds the call until the request is settled.
   */
  kind?: string
  /** The request to open. */
  request(given: Arguments): Pick<OpenBody, 'kind' | 'toolName' | 'request' | 'toolCallId'>
  /** The result of the tool, for the model. */
  describeSettlement(item: Interaction, given: Arguments): string
  /** The same if the request could not be opened. Without this method the tool returns an error. */
  describeError?(message: string): string
}

const textProperty = (description: string) => ({ type: 'string', description })

const questionSchema = {
  type: 'object',
  properties: {
    question: textProperty('The whole question.'),
    header: textProperty('A name for it in at most 12 characters.'),
    options: {
      type: 'array',
      maxItems: 8,
      description:
        'What can be chosen. A text of their own is always possible; without options it is the only way.',
      items: {
        type: 'object',
        properties: { label: textProperty('Short and unique.'), description: textProperty('What it means.') },
        required: ['label'],
      },
    },
    multiSelect: { type: 'boolean', description: 'Whether several options may be chosen.' },
  },
  required: ['question'],
}

const askUser: AskTool = {
  name: 'ask_user',
  title: 'Ask the user',
  description:
    'Asks the user one to four questions and waits for the answers. Use it when you need a decision or a fact that only they have. If nobody answers, you are told so: do not assume an answer.',
  inputSchema: {
    type: 'object',
    properties: { questions: { type: 'array', minItems: 1, maxItems: 4, items: questionSchema } },
    required: ['questions'],
  },
  kind: 'question',
  annotations: READ_ONLY_HINTS,
  request: ({ questions = null }) => ({
    kind: 'question',
    toolName: 'ask_user',
    request: { questions: Array.isArray(questions) ? questions.map(addDefaults) : questions },
  }),
  describeSettlement: (item) =>
    item.settlement === 'answered' && hasAnswer(item, 'question')
      ? answerMessage(item.request, item.answer)
      : refusalOf(item, 'the question'),
}

const requestApproval: AskTool = {
  name: 'request_approval',
  title: 'Request approval',
  description:
    'Asks the user whether something may be done, and waits for the decision. Call it before you do what you need permission for, and do exactly what was approved, once.',
  inputSchema: {
    type: 'object',
    properties: {
      tool: textProperty('What would be done, as a short name such as deploy.'),
      input: { type: 'object', description: 'Everything that says what exactly would be done.' },
      title: textProperty('The same for a person, in one line.'),
      description: textProperty('More, if need be.'),
      reason: textProperty('Why it is needed.'),
    },
    required: ['tool', 'input'],
  },
  kind: 'approval',
  annotations: READ_ONLY_HINTS,
  request: ({ tool, input = null, title, description, reason }) => ({
    kind: 'approval',
    ...(typeof tool === 'string' && { toolName: tool }),
    request: {
      input,
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      ...(reason !== undefined && { reason }),
    },
  }),
  describeSettlement(item) {
    if (isInDoubt(item)) return IN_DOUBT_MESSAGE
    if (item.settlement !== 'approved' || !hasAnswer(item, 'approval')) return refusalOf(item, 'this')
    const { updatedInput } = item.answer
    if (updatedInput === undefined) return 'Approved, this once, exactly as asked.'
    return `Approved with changes. What may be done is exactly this: ${JSON.stringify(updatedInput)}`
  },
}

const reviewPlan: AskTool = {
  name: 'review_plan',
  title: 'Have a plan reviewed',
  description: 'Shows the user a plan in Markdown, and waits until they accept it or say what should change.',
  inputSchema: {
    type: 'object',
    properties: { plan: textProperty('The whole plan, in Markdown.') },
    required: ['plan'],
  },
  kind: 'plan_review',
  annotations: READ_ONLY_HINTS,
  request: ({ plan = null }) => ({ kind: 'plan_review', toolName: 'review_plan', request: { plan } }),
  describeSettlement(item) {
    if (item.settlement === 'denied') return planChangeMessage(item.message)
    if (item.settlement !== 'approved' || !hasAnswer(item, 'plan_review')) return refusalOf(item, 'the plan')
    const { decision, updatedPlan } = item.answer
    const edits = decision === 'default' ? 'Ask before each edit.' : 'Edits need no further approval.'
    if (updatedPlan === undefined) return `The plan is accepted. ${edits}`
    return `The plan is accepted with changes. ${edits} It is now:\n\n${updatedPlan}`
  },
}

/**
 * For `claude --permission-prompt-tool`: Claude Code reads its result, not the model. It has no annotations, so that clients ask
 * before a model calls it. Claude Code takes only a decision as the result, so the call waits until there is one.
 */
const permissionPrompt: AskTool = {
  name: 'permission_prompt',
  title: 'Permission prompt',
  description: 'Decides for Claude Code whether a tool may run. Not for models to call.',
  inputSchema: {
    type: 'object',
    properties: {
      tool_name: textProperty('The tool.'),
      input: { type: 'object', description: 'Its input.' },
      tool_use_id: textProperty('The id of the call.'),
    },
    required: ['tool_name', 'input'],
  },
  request: (given) => ({
    ...requestForToolUse(toolUseIn(given)),
    ...(typeof given['tool_use_id'] === 'string' && { toolCallId: given['tool_use_id'] }),
  }),
  describeSettlement(item, given) {
    const decision = decisionForToolUse(toolUseIn(given), item)
    return decision ? JSON.stringify(decision) : denial(refusalOf(item, 'this call'))
  },
  describeError: denial,
}

export const askTools = [askUser, requestApproval, reviewPlan, permissionPrompt]

/** The tool that describes the settlement of a request whose call has ended. */
export function toolForKind(kind: string): AskTool | undefined {
  const tool = askTools.find((each) => each.kind === kind)
  return tool ?? (isBuiltInKind(kind) ? undefined : customTool({ kind, title: kind, request: null }))
}

/** The tool that asks for a kind which an embedder defined. Its arguments are the request, or hold it if it is no object. */
export function customTool({
  kind,
  title,
  request: schema,
}: Pick<KindDescription, 'kind' | 'title' | 'request'>): AskTool {
  const isObject = schema?.['type'] === 'object'
  // A kind begins with a letter, so a name with two underscores belongs to no other kind.
  const name = askTools.some((tool) => tool.name === `ask_${kind}`) ? `ask__${kind}` : `ask_${kind}`
  return {
    name,
    title,
    description: `Asks the user: ${title}. It waits until they answer, and returns their answer as JSON. If nobody answers, you are told so: do not assume an answer.`,
    inputSchema: isObject
      ? objectSchema(schema)
      : objectSchema({ properties: { request: schema ?? {} }, required: ['request'] }),
    annotations: READ_ONLY_HINTS,
    kind,
    request: (given) => ({
      kind,
      toolName: name,
      request: isObject ? given : (given['request'] ?? null),
    }),
    describeSettlement(item) {
      if (isInDoubt(item)) return IN_DOUBT_MESSAGE
      const { settlement, answer = null } = item
      if (settlement !== 'answered' && settlement !== 'approved') return refusalOf(item, 'this')
      return `${settlement === 'approved' ? 'Approved' : 'Answered'}: ${JSON.stringify(answer)}`
    },
  }
}

function objectSchema(schema: Record<string, unknown>): AskTool['inputSchema'] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a JSON Schema, which the desk has described
  return { ...schema, type: 'object' } as unknown as AskTool['inputSchema']
}

function toolUseIn({ tool_name: name, input }: Arguments) {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Claude Code calls the tool with an object; the desk checks what it asks about
  return { toolName: typeof name === 'string' ? name : '', input: (input ?? {}) as Record<string, Json> }
}

function refusalOf({ interactionId, settlement, message }: Interaction, subject: string): string {
  if (isRefusal(settlement)) return refusalMessage({ settlement, message }, subject)
  throw new AskbackError('internal', `The interaction ${interactionId} was settled as ${settlement}.`)
}

function denial(message: string): string {
  return JSON.stringify({ behavior: 'deny', message })
}

/** A model may leave these out. */
function addDefaults(given: Json): Json {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given
  return { options: [], multiSelect: false, ...given }
}
