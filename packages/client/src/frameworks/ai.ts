/**
 * Approvals for the AI SDK (`ai` 6 and 7). The SDK has no store for a run that waits: a program that is started again calls its model
 * again, which gives its tool calls new ids. So a call is identified by the key of the run, its tool and its input, and by how many
 * calls like it came before.
 */
import { AskbackError, isRecord, type StandardSchema } from '@askback/protocol'
import type { AskbackSession } from '../asking/askback.js'
import { askQuestion, questionIn, unknownQuestion, type AskedQuestion } from './question.js'
import {
  anyInput,
  approveCalls,
  callKey,
  contentId,
  jsonOf,
  refusal,
  refusalOfEdit,
  type FrameworkOptions,
} from './tool-approval.js'

/** The part of a tool call that is used here. */
export interface AiToolCall {
  toolCallId: string
  toolName: string
  input: unknown
}

/** What `toolApproval` of the AI SDK takes. */
export type AiToolApproval = (call: {
  toolCall: AiToolCall
  messages: readonly unknown[]
}) => Promise<{ type: 'approved' } | { type: 'denied'; reason: string } | undefined>

/** Options of `askbackApproval`, `askbackTools` and `askbackQuestion`. */
export interface AiOptions extends Omit<FrameworkOptions, 'session'> {
  /**
   * The names of the tools that need a person. Others run without one.
   *
   * @default all tools
   */
  tools?: readonly string[]
}

/**
 * Asks a person for each tool call, for `toolApproval` of version 7. The SDK asks about the calls of one step one after the other, and has
 * no way to run an edited input, so the model has to call again; `askbackTools` asks about all at once, and people can edit.
 *
 * @example
 * await generateText({ model, tools, prompt, toolApproval: askbackApproval(session, { key: jobId }) })
 */
export function askbackApproval(session: AskbackSession, options: AiOptions = {}): AiToolApproval {
  const { tools, ...asking } = options
  const calls = new CallsByContent()
  return async ({ toolCall, messages }) => {
    if (tools && !tools.includes(toolCall.toolName)) return undefined
    const { toolName } = toolCall
    const call = {
      toolName,
      input: jsonOf(toolCall.input),
      id: calls.idOf(toolCall, messages),
      schema: anyInput,
    }
    const verdict = (await approveCalls([call], { session, ...asking }))[0]!
    const isAllowed = verdict.approved && !verdict.isEdited
    return isAllowed ? { type: 'approved' } : { type: 'denied', reason: refusalOfEdit(verdict) }
  }
}

/** The part of a tool that is used here. */
export interface AiTool {
  inputSchema?: unknown
  // oxlint-disable-next-line typescript/no-explicit-any -- the types of a tool are its own, and `never` would not accept all of them
  execute?: ((input: any, options: any) => unknown) | undefined
}

/**
 * Wraps tools so that each call asks a person before it runs, with the input as the person approved or edited it. Works with versions 6 and
 * 7. Calls of one step are asked for at once, and each runs as soon as it is approved. A call that may not run throws
 * in the tool, which the model reads as the error of the call.
 *
 * @example
 * await generateText({ model, prompt, tools: askbackTools(session, { deploy }, { key: jobId }) })
 */
export function askbackTools<Tools extends Record<string, AiTool>>(
  session: AskbackSession,
  tools: Tools,
  options: AiOptions = {},
): Tools {
  const { tools: names = Object.keys(tools), ...asking } = options
  const calls = new CallsByContent()
  const wrap = ([toolName, tool]: [string, AiTool]): [string, AiTool] => {
    const { execute } = tool
    if (!execute || !names.includes(toolName)) return [toolName, tool]
    const approved = async (input: unknown, call: AiExecution) => {
      const id = calls.idOf({ toolCallId: call.toolCallId, toolName, input }, call.messages)
      const { abortSignal: signal = asking.signal } = call
      const waiting = { toolName, input: jsonOf(input), id, schema: schemaOf(tool) }
      const verdict = (await approveCalls([waiting], { session, ...asking, ...(signal && { signal }) }))[0]!
      if (!verdict.approved) throw new AskbackError('forbidden', verdict.message)
      return lastOf(await execute(verdict.isEdited ? verdict.input : input, call))
    }
    return [toolName, { ...tool, execute: approved }]
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same tools, each with an `execute` of the same type
  return Object.fromEntries(Object.entries(tools).map(wrap)) as Tools
}

/** The part of what the SDK passes to `execute` that is used here. */
export interface AiExecution {
  toolCallId: string
  messages: readonly unknown[]
  abortSignal?: AbortSignal | undefined
}

/**
 * The `execute` of a tool with which a model asks people. Its input is `{ question, choices? }`; the model gets the answer, or why there is
 * none.
 *
 * @example
 * const askUser = tool({ description: 'Asks the user', inputSchema, execute: askbackQuestion(session, { key: jobId }) })
 */
export function askbackQuestion(
  session: AskbackSession,
  options: Omit<AiOptions, 'tools'> = {},
): (input: AskedQuestion, call: AiExecution) => Promise<string> {
  const calls = new CallsByContent()
  const { key, ...asking } = options
  return async (input, { toolCallId, messages, abortSignal: signal = asking.signal }) => {
    const question = questionIn(input)
    if (!question) throw unknownQuestion('The model')
    const id = calls.idOf({ toolCallId, toolName: 'askbackQuestion', input }, messages)
    const outcome = await askQuestion(session, question, {
      ...asking,
      ...(signal && { signal }),
      ...(key !== undefined && { key: callKey(key, id) }),
    })
    return outcome.ok ? outcome.value : refusal(outcome)
  }
}

/** Names calls by their content, and by their number among calls with the same content. */
class CallsByContent {
  /** The ids of calls in one step, by their content and the number of calls like it before that step. */
  readonly #ofStep = new Map<string, string[]>()

  idOf({ toolCallId, toolName, input }: AiToolCall, messages: readonly unknown[]): string {
    const content = contentId(toolName, input)
    const before = `${content} ${earlierCalls(messages).filter((each) => each === content).length}`
    const ids = this.#ofStep.get(before) ?? []
    this.#ofStep.set(before, ids)
    if (!ids.includes(toolCallId)) ids.push(toolCallId)
    return `${before} ${ids.indexOf(toolCallId)}`
  }
}

/** The content of the tool calls in the messages that were sent to the model. */
function earlierCalls(messages: readonly unknown[]): string[] {
  return messages.flatMap((message) => {
    const parts: unknown = isRecord(message) ? message.content : null
    if (!Array.isArray(parts)) return []
    return parts.flatMap((part: unknown) =>
      isRecord(part) && part.type === 'tool-call' && typeof part.toolName === 'string'
        ? [contentId(part.toolName, part.input)]
        : [],
    )
  })
}

/** The schema that checks an edited input, if the tool has one of Standard Schema. */
function schemaOf({ inputSchema }: AiTool): StandardSchema | undefined {
  const isStandard = typeof inputSchema === 'object' && inputSchema !== null && '~standard' in inputSchema
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has the property by which such schemas are known
  return isStandard ? (inputSchema as StandardSchema) : undefined
}

/** A tool may return a stream of preliminary results, of which the last one counts. */
async function lastOf(result: unknown): Promise<unknown> {
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result
  let last: unknown
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has the method of an iterable
  for await (const each of result as AsyncIterable<unknown>) last = each
  return last
}
