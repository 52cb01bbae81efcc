import {
  CLIENT_INFO_META_KEY,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type CallToolResult,
  type InputRequests,
  type InputRequiredResult,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { AskbackError, errorMessage, objectOf, type Interaction } from '@askback/protocol'
import { withProgress } from './progress.js'
import { FORM_KEY, formFor, takeFormAnswer } from './question-form.js'
import type { RequestPort } from './request-port.js'
import { callDigest, type RequestState, type RequestStates } from './request-state.js'
import { errorResult, textResult, toolResult } from './results.js'
import { createdTask, offersTasks } from './tasks.js'
import { toolForKind, type Arguments, type AskTool } from './tools.js'
import { listUnfinished, stillWaiting, waitForAnswerTool } from './wait-for-answer.js'

/** Most clients give up a call after 60 seconds. */
const DEFAULT_WAIT_MS = 45_000
/** Clients that wait for minutes while they get progress, by the names that they send. */
const PATIENT_CLIENTS: ReadonlySet<string> = new Set(['claude-code', 'opencode'])
/** How often a client is asked to repeat a call. The official client gives up after 10 times; before that the model is asked. */
const MAX_ROUNDS = 8
/** The field of `_meta` in which Claude Code sends the id of its tool call. */
const CLAUDE_CALL_ID = 'claudecode/toolUseId'

interface AskCallsOptions {
  requests: RequestPort
  states: RequestStates
  waitMs: number | null | undefined
  progressMs: number
  pollMs: number
  clientName: () => string | undefined
}

interface OpenCall {
  name: string
  given: Arguments
  context: ServerContext
  startedAt: number
  /** Describes the settlement to the model. */
  tool: AskTool
  /** Whether giving up this call cancels the request. */
  isOpener: boolean
}

type AskResult = CallToolResult | InputRequiredResult

/**
 * The calls of the tools that ask. A call ends before the client gives up. Then the request stays pending, and the client continues
 * in the way that it supports: as a task, by repeating the call with the signed state, or with the tool `wait_for_answer`.
 */
export class AskCalls {
  readonly #options: AskCallsOptions

  constructor(options: AskCallsOptions) {
    this.#options = options
  }

  async ask(tool: AskTool, given: Arguments, context: ServerContext): Promise<AskResult> {
    const { requests, pollMs } = this.#options
    const call = { name: tool.name, given, context, tool, startedAt: performance.now(), isOpener: true }
    try {
      const repeated = await this.#repeatedRequest(call)
      if (repeated) {
        await takeFormAnswer(requests, repeated, context.mcpReq.inputResponses)
        return await this.#waitFor(repeated, call)
      }
      const callId = context.mcpReq._meta?.[CLAUDE_CALL_ID]
      const item = await requests.open({
        ...(typeof callId === 'string' && { toolCallId: callId }),
        ...tool.request(given),
      })
      if (item.status === 'settled') return toolResult(tool.describeSettlement(item, given), item)
      if (tool.kind !== undefined && offersTasks(context)) return createdTask(item, pollMs)
      const form = formFor(requests, item, context)
      if (form) return await this.#repeatLater(item, call, { [FORM_KEY]: inputRequired.elicit(form) })
      return await this.#waitFor(item, call)
    } catch (error) {
      if (error instanceof ProtocolError) throw error
      const message = errorMessage(error)
      if (tool.describeError) return textResult(tool.describeError(message))
      return errorResult(`Nobody could be asked: ${message}`)
    }
  }

  async waitForAnswer(given: Arguments, context: ServerContext): Promise<AskResult> {
    const { requests } = this.#options
    const call = {
      name: waitForAnswerTool.name,
      given,
      context,
      startedAt: performance.now(),
      isOpener: false,
    }
    try {
      const { id } = given
      if (id === undefined) return listUnfinished(await requests.unfinished())
      if (typeof id !== 'string') throw new AskbackError('invalid_request', 'The id is a text.')
      const item = (await this.#repeatedRequest(call)) ?? (await requests.find(id))
      const tool = toolForKind(item.kind)
      if (!tool) throw new AskbackError('not_found', `${id} was not asked by a tool of this server.`)
      return await this.#waitFor(item, { ...call, tool })
    } catch (error) {
      if (error instanceof ProtocolError) throw error
      return errorResult(`The answer could not be read: ${errorMessage(error)}`)
    }
  }

  /** The request of a call that the client repeats; `undefined` for a new call. */
  async #repeatedRequest({
    name,
    given,
    context,
  }: Pick<OpenCall, 'name' | 'given' | 'context'>): Promise<Interaction | undefined> {
    const state = context.mcpReq.requestState<RequestState>()
    if (state === undefined) return undefined
    if (state.call !== callDigest(name, given))
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'This requestState belongs to another call.')
    return this.#options.requests.find(state.interactionId)
  }

  async #waitFor(item: Interaction, call: OpenCall): Promise<AskResult> {
    const { requests, progressMs } = this.#options
    const { tool, given, context } = call
    const { mcpReq } = context
    const waitMs = tool.kind === undefined ? null : this.#waitMs(context)
    const ms = waitMs === null ? null : Math.max(0, Math.ceil(waitMs - (performance.now() - call.startedAt)))
    const found = await withProgress(context, progressMs, () =>
      requests.wait(item, { ms, signal: mcpReq.signal, isCancelledBySignal: call.isOpener }),
    )
    if (found.status === 'settled') return toolResult(tool.describeSettlement(found, given), found)
    return this.#repeatLater(found, call)
  }

  /** Ends the call, and tells the client or its model how to continue. */
  async #repeatLater(
    item: Interaction,
    { name, given, context: { mcpReq } }: OpenCall,
    inputRequests?: InputRequests,
  ): Promise<AskResult> {
    const round = (mcpReq.requestState<RequestState>()?.round ?? 0) + 1
    // Clients of the specifications before 2026-07-28 send no envelope, and cannot repeat a call by themselves.
    if (mcpReq.envelope === undefined || round > MAX_ROUNDS) return stillWaiting(item)
    const { interactionId } = item
    const state = { interactionId, round, call: callDigest(name, given) }
    const requestState = await this.#options.states.sign(state)
    return inputRequired({ requestState, ...(inputRequests && { inputRequests }) })
  }

  #waitMs({ mcpReq }: ServerContext): number | null {
    const { waitMs, clientName } = this.#options
    if (waitMs !== undefined) return waitMs
    const name = objectOf(objectOf(mcpReq.envelope)[CLIENT_INFO_META_KEY])['name'] ?? clientName()
    return typeof name === 'string' && PATIENT_CLIENTS.has(name) ? null : DEFAULT_WAIT_MS
  }
}
