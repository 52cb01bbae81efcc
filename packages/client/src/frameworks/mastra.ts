/**
 * Requests for the tool calls at which an agent of Mastra stops: those that require an approval, and those that suspend with a
 * question. The key of the run is its `runId`, and Mastra keeps a suspended run in its storage, so a program that was killed continues it.
 */
import { AskbackError, isRecord } from '@askback/protocol'
import { NotAnswered } from '../asking/asked.js'
import { randomKey } from '../transport/transport.js'
import { askQuestion, questionIn, unknownQuestion } from './question.js'
import {
  anyInput,
  approveCalls,
  callKey,
  refusalOfEdit,
  type FrameworkOptions,
  type Verdict,
} from './tool-approval.js'

/** The part of an agent of Mastra that is used here. */
export interface MastraAgent<Part> {
  // oxlint-disable-next-line typescript/no-explicit-any -- the types of an agent are its own
  stream(messages: any, options?: any): Promise<MastraStream<Part>>
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  approveToolCall(options: any): Promise<MastraStream<Part>>
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  declineToolCall(options: any): Promise<MastraStream<Part>>
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  resumeStream(resumeData: any, options: any): Promise<MastraStream<Part>>
  listSuspendedRuns?(): Promise<{ runs: readonly MastraRun[] }>
}

/** What `stream` of a Mastra agent returns, as far as it is used here. */
export interface MastraStream<Part> {
  fullStream: AsyncIterable<Part> | ReadableStream<Part>
}

interface MastraRun {
  runId: string
  toolCalls: readonly {
    toolCallId?: string
    toolName?: string
    args?: unknown
    requiresApproval: boolean
    suspendPayload?: unknown
  }[]
}

/** A tool call at which the agent has stopped. */
interface StoppedCall {
  toolCallId: string
  toolName: string
  args?: unknown
  /** What the tool suspended with. */
  payload?: unknown
  needsApproval: boolean
}

/** Options of `streamWithAskback`. */
export interface StreamWithAskbackOptions extends FrameworkOptions {
  /** Options of `stream`, such as `requireToolApproval` and `memory`. */
  streamOptions?: object
  /** Answers tools that suspend with something else than a question: the value is their resume data. `key` names the request. */
  answer?: (suspended: { toolName: string; payload: unknown }, key: string) => Promise<unknown>
}

/**
 * Streams an agent of Mastra to its end, and asks a person wherever it stops: for a tool call that requires an approval, and for a tool
 * that suspends with a text or `{ question, choices? }`, which is resumed with `{ answer }`. If the run of this key is suspended already, it
 * continues there, and `messages` are not used.
 *
 * Mastra cannot run an edited input: the model reads what the person wants, and has to call the tool again.
 *
 * @example
 * for await (const part of streamWithAskback(agent, 'Deploy 1.4.0', { session, key: jobId })) print(part)
 */
export async function* streamWithAskback<Part>(
  agent: MastraAgent<Part>,
  messages: unknown,
  options: StreamWithAskbackOptions,
): AsyncGenerator<Part, undefined> {
  const { session: _, key, streamOptions = {} } = options
  const runId = key ?? randomKey()
  const run = { ...streamOptions, runId }
  const stopped = new Map<string, StoppedCall>()
  if (key !== undefined)
    for (const call of await suspendedCalls(agent, runId)) stopped.set(call.toolCallId, call)
  if (stopped.size === 0) yield* read(await agent.stream(messages, run), stopped)
  while (stopped.size > 0) {
    const calls = [...stopped.values()]
    for (const { call, resume } of await decide(calls, agent, { ...options, key: runId })) {
      stopped.delete(call.toolCallId)
      yield* read(await resume({ ...run, toolCallId: call.toolCallId }), stopped)
    }
  }
}

type Resume<Part> = (options: object) => Promise<MastraStream<Part>>

/** Asks about all calls at once. */
async function decide<Part>(
  calls: readonly StoppedCall[],
  agent: MastraAgent<Part>,
  options: StreamWithAskbackOptions & { key: string },
): Promise<{ call: StoppedCall; resume: Resume<Part> }[]> {
  const { streamOptions: _, answer: __, ...asking } = options
  const forApproval = calls.filter(({ needsApproval }) => needsApproval)
  const suspended = calls.filter(({ needsApproval }) => !needsApproval)
  const questions = Promise.all(suspended.map((call) => answerOf(call, options)))
  const [verdicts, answers] = await Promise.all([
    approveCalls(forApproval.map(waitingCall), asking, questions),
    questions,
  ])
  return [
    ...forApproval.map((call, index) => ({ call, resume: resumeAfter(verdicts[index]!, agent) })),
    ...suspended.map((call, index) => ({
      call,
      resume: (run: object) => agent.resumeStream(answers[index], run),
    })),
  ]
}

function waitingCall({ toolName, toolCallId, args }: StoppedCall) {
  return { toolName, input: args, id: toolCallId, schema: anyInput }
}

function resumeAfter<Part>(verdict: Verdict, agent: MastraAgent<Part>): Resume<Part> {
  if (verdict.approved && !verdict.isEdited) return (run) => agent.approveToolCall(run)
  return (run) => agent.declineToolCall({ ...run, reason: refusalOfEdit(verdict) })
}

async function answerOf(
  { toolName, toolCallId, payload }: StoppedCall,
  { session, key, answer, streamOptions: _, ...asking }: StreamWithAskbackOptions & { key: string },
): Promise<unknown> {
  const requestKey = callKey(key, toolCallId)
  if (answer) return answer({ toolName, payload }, requestKey)
  const question = questionIn(payload)
  if (!question) throw unknownQuestion(`The tool ${toolName}`)
  const outcome = await askQuestion(session, question, { ...asking, key: requestKey })
  if (!outcome.ok) throw new NotAnswered(outcome)
  return { answer: outcome.value }
}

/** Passes the parts on, and adds the calls at which the agent stops. */
async function* read<Part>(
  { fullStream }: MastraStream<Part>,
  stopped: Map<string, StoppedCall>,
): AsyncGenerator<Part, undefined> {
  for await (const part of fullStream) {
    const call = stoppedCallIn(part)
    if (call) stopped.set(call.toolCallId, call)
    yield part
  }
}

function stoppedCallIn(part: unknown): StoppedCall | null {
  if (!isRecord(part) || !isRecord(part.payload)) return null
  const needsApproval = part.type === 'tool-call-approval'
  if (!needsApproval && part.type !== 'tool-call-suspended') return null
  const { toolCallId, toolName, args, suspendPayload } = part.payload
  return {
    toolCallId: String(toolCallId),
    toolName: String(toolName),
    args,
    payload: suspendPayload,
    needsApproval,
  }
}

async function suspendedCalls(agent: MastraAgent<unknown>, runId: string): Promise<StoppedCall[]> {
  if (!agent.listSuspendedRuns)
    throw new AskbackError(
      'invalid_request',
      'A key needs a version of Mastra with agent.listSuspendedRuns().',
    )
  const { runs } = await agent.listSuspendedRuns()
  const calls = runs.find((run) => run.runId === runId)?.toolCalls ?? []
  return calls.map(({ toolCallId = '', toolName = 'a tool', args, requiresApproval, suspendPayload }) => ({
    toolCallId,
    toolName,
    args,
    payload: suspendPayload,
    needsApproval: requiresApproval,
  }))
}
