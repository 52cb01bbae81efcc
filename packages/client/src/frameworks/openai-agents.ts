import { AskbackError, isRecord } from '@askback/protocol'
import { randomKey } from '../transport/transport.js'
import { anyInput, approveCalls, refusalOfEdit, type FrameworkOptions } from './tool-approval.js'

/** The part of an interruption of the Agents SDK that is used here. */
export interface AgentInterruption {
  readonly name?: string | undefined
  readonly arguments?: string | undefined
  readonly rawItem: unknown
}

/** The part of a `RunState` that is used here. */
export interface AgentRunState {
  // oxlint-disable-next-line typescript/no-explicit-any -- the SDK's own class of items, which it gets back as it gave it
  approve(item: any): void
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  reject(item: any, options?: { message?: string }): void
  getInterruptions(): readonly AgentInterruption[]
  toString(): string
}

/** The part of the result of a run that is used here. */
export interface AgentRunResult {
  readonly interruptions?: readonly AgentInterruption[] | undefined
  readonly state: AgentRunState
  readonly finalOutput?: unknown
}

/** The part of `@openai/agents` that is used here. */
interface AgentsSdk {
  run(agent: object, input: unknown, options?: object): Promise<AgentRunResult>
  RunState: { fromString(agent: object, text: string): Promise<AgentRunState> }
}

/** Where runs that wait for a person are kept, so that a program that was killed continues them. A file or a table will do. */
export interface RunStateStore {
  load(key: string): Promise<string | null | undefined> | string | null | undefined
  save(key: string, state: string): Promise<void> | void
  /** Called when the run is complete. */
  remove(key: string): Promise<void> | void
}

/** Options of `runWithAskback`. */
export interface RunWithAskbackOptions<Result extends AgentRunResult> extends FrameworkOptions {
  /** Keeps the state of the run under `key` while it waits. Both belong together: one without the other is refused. */
  store?: RunStateStore
  /**
   * Runs the agent: a `Runner`, for its settings and for the exact type of the result.
   *
   * @default `run` of `@openai/agents`
   */
  // oxlint-disable-next-line typescript/no-explicit-any -- the types of a runner depend on its agent
  runner?: { run(agent: any, input: any, options?: any): Promise<Result> }
  /** Options of `run`, such as `context` and `maxTurns`. */
  runOptions?: object
}

const SDK = '@openai/agents'

/**
 * Runs an agent of the OpenAI Agents SDK to its end: each tool call with `needsApproval` asks a person. What a person denies, and what nobody
 * answers, is rejected with the reason as its message. The SDK cannot run an edited input: the model reads what the person wants, and
 * has to call the tool again.
 *
 * @example
 * const { finalOutput } = await runWithAskback(agent, 'Deploy 1.4.0', { session, key: jobId, store })
 */
export async function runWithAskback<Result extends AgentRunResult = AgentRunResult>(
  agent: object,
  input: unknown,
  options: RunWithAskbackOptions<Result>,
): Promise<Result> {
  const { store, runner, runOptions, ...asking } = options
  const { key } = asking
  if ((store === undefined) !== (key === undefined))
    throw new AskbackError(
      'invalid_request',
      'runWithAskback() needs both `key` and `store`, or none of them.',
    )
  const sdk = await loadSdk()
  const run = async (given: unknown): Promise<Result> => {
    if (runner) return runner.run(agent, given, runOptions)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- without a runner the result has the type of `run`
    return (await sdk.run(agent, given, runOptions)) as Result
  }
  // Ids of calls are unique in one run only.
  const named = { ...asking, ...(key === undefined && { key: randomKey() }) }
  const saved = key === undefined ? null : await store?.load(key)
  let state = typeof saved === 'string' ? await sdk.RunState.fromString(agent, saved) : null
  for (;;) {
    if (!state) {
      const result = await run(input)
      if (isComplete(result)) return result
      state = result.state
      if (key !== undefined) await store?.save(key, state.toString())
    }
    await decide(state, named)
    const result = await run(state)
    if (isComplete(result)) {
      if (key !== undefined) await store?.remove(key)
      return result
    }
    state = result.state
    if (key !== undefined) await store?.save(key, state.toString())
  }
}

function isComplete({ interruptions }: AgentRunResult): boolean {
  return !interruptions || interruptions.length === 0
}

/** The decisions are in the state of this process only: a stored approval could run the call a second time after a crash. */
async function decide(state: AgentRunState, asking: FrameworkOptions): Promise<void> {
  const items = state.getInterruptions()
  const verdicts = await approveCalls(items.map(waitingCall), asking)
  for (const [index, verdict] of verdicts.entries()) {
    const item = items[index]!
    if (verdict.approved && !verdict.isEdited) state.approve(item)
    else state.reject(item, { message: refusalOfEdit(verdict) })
  }
}

function waitingCall(item: AgentInterruption) {
  const { name = 'a tool', rawItem } = item
  return { toolName: name, input: inputOf(item), id: callIdOf(rawItem), schema: anyInput }
}

/** The model wrote the arguments as a text, which may be no JSON. */
function inputOf({ arguments: text, rawItem }: AgentInterruption): unknown {
  if (text === undefined) return rawItem
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function callIdOf(item: unknown): string {
  const id = isRecord(item) ? (item.callId ?? item.id) : undefined
  if (typeof id === 'string') return id
  throw new AskbackError('invalid_request', 'The Agents SDK has stopped at a call without an id.')
}

async function loadSdk(): Promise<AgentsSdk> {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an optional peer, which is not installed where this is built
    return (await import(SDK)) as AgentsSdk
  } catch (error) {
    throw new AskbackError('invalid_request', `runWithAskback() needs ${SDK}: run \`npm install ${SDK}\`.`, {
      cause: error,
    })
  }
}
