import type { Host } from '@askback/core'
import {
  AskbackError,
  type Interaction,
  type OpenBody,
  type QuestionAnswer,
  type SessionTags,
} from '@askback/protocol'
import { isUnfinished, type RequestPort, type SettlementWait } from './request-port.js'

/** Who asks, and where. */
export interface DeskRequestsOptions {
  host: Host
  credential: { kind: 'agent' | 'person'; id: string }
  /** The session to ask in. Without one, the client has a session of its own. */
  sessionId?: string | undefined
  /** Identifies the client and contains its name: see `http.ts`. */
  mcpSession: string
  clientName: string
  /** The tags of a session that is created for the client. */
  tags?: SessionTags | undefined
  checkSession: (sessionId: string) => Promise<void>
  /** Aborts when the client cancels its call. */
  cancelled: AbortSignal
  /** Aborts when the gateway stops or the client disconnects. Then nothing is cancelled. */
  ended: AbortSignal
  /** Whether the client may answer questions in the name of its user. */
  takesAnswers: boolean
}

/** The requests of a client of the gateway's own MCP server. */
export class DeskRequests implements RequestPort {
  readonly #options: DeskRequestsOptions
  readonly answer: RequestPort['answer']

  constructor(options: DeskRequestsOptions) {
    this.#options = options
    this.answer = options.takesAnswers ? (item, answer) => this.#answer(item, answer) : undefined
  }

  async open(body: OpenBody): Promise<Interaction> {
    const { sessionId: named, checkSession } = this.#options
    const sessionId = await this.#askingSession()
    await checkSession(sessionId)
    const { interaction } = await this.#desk(sessionId).open({
      ...body,
      sessionId,
      // In a session of the client's own nobody reports tool calls, so there is none to wait for.
      rendezvous: named !== undefined,
      source: 'mcp',
      claim: true,
    })
    return interaction
  }

  async find(interactionId: string): Promise<Interaction> {
    const { host, credential, sessionId: named, checkSession } = this.#options
    const unknown = new AskbackError(
      'not_found',
      `There is no request ${interactionId} that you have asked here.`,
    )
    const item = await host.desk
      .wait(interactionId, { claim: false, until: 'now' })
      .catch((error: unknown) => {
        throw isRefusal(error) ? unknown : error
      })
    // The same error as for an id that does not exist, which says nothing about the requests of others.
    if (item.openedBy !== credential.id || (named !== undefined && named !== item.sessionId)) throw unknown
    await checkSession(item.sessionId).catch((error: unknown) => {
      throw isRefusal(error) ? unknown : error
    })
    return item
  }

  async unfinished(): Promise<Interaction[]> {
    const { host, credential, checkSession } = this.#options
    const sessionId = await this.#askingSession()
    await checkSession(sessionId)
    const { state } = await host.desk.snapshot(sessionId, { fresh: true })
    return [...state.interactions, ...state.pending].filter(
      (item) => isUnfinished(item) && item.openedBy === credential.id,
    )
  }

  async wait(item: Interaction, { ms, signal, isCancelledBySignal }: SettlementWait): Promise<Interaction> {
    const { checkSession, cancelled, ended } = this.#options
    const { sessionId, interactionId } = item
    const desk = this.#desk(sessionId)
    const found = await untilAny([cancelled, ended, signal], ms, (until) =>
      desk.wait(interactionId, { sessionId, until }),
    )
    await checkSession(sessionId)
    if (found.status === 'settled' || !isCancelledBySignal || !cancelled.aborted) return found
    return (await desk.cancel({ sessionId, interactionId: found.interactionId })).interaction
  }

  async cancel({ sessionId, interactionId }: Interaction): Promise<void> {
    const desk = this.#desk(sessionId)
    const current = await desk.wait(interactionId, { sessionId, claim: false, until: AbortSignal.abort() })
    await desk.cancel({ sessionId, interactionId: current.interactionId }).catch((error: unknown) => {
      if (!(error instanceof AskbackError && error.code === 'already_settled')) throw error
    })
  }

  /** The answer is attributed to the client: the gateway cannot know who sat before it. */
  async #answer(
    { sessionId, interactionId, kind, digest }: Interaction,
    answer: QuestionAnswer,
  ): Promise<void> {
    const { host, credential, clientName } = this.#options
    if (kind !== 'question') throw new AskbackError('forbidden', 'An MCP client may answer only questions.')
    const by = { id: `mcp:${credential.id}`, name: `MCP client ${clientName}` }
    try {
      await host.desk.as({ by, via: 'mcp' }).respond({ sessionId, interactionId, answer, digest })
    } catch (error) {
      const isIgnored =
        error instanceof AskbackError && ['already_settled', 'invalid_answer'].includes(error.code)
      if (!isIgnored) throw error
    }
  }

  #desk(sessionId: string) {
    const { host, credential } = this.#options
    const { id, kind: role } = credential
    return host.desk.as({ id, role, fence: role === 'agent' ? host.fenceOf(sessionId) : undefined })
  }

  /** Each client has one session, which has its name as the title. */
  async #askingSession(): Promise<string> {
    const { host, credential, sessionId, mcpSession, clientName: title, tags } = this.#options
    if (sessionId !== undefined) return sessionId
    const { session: created } = await host.createSession({
      agent: null,
      title,
      source: 'mcp',
      ...(tags && { tags }),
      idempotencyKey: `mcp ${encodeURIComponent(credential.id)} ${mcpSession}`,
    })
    return created.id
  }
}

/**
 * Runs `work` with a signal that aborts with the first of these signals, or after `ms`. Not with `AbortSignal.any` and
 * `AbortSignal.timeout`: in Node.js 20 a timeout that only a combined signal refers to is collected as garbage, and never aborts.
 */
async function untilAny<Result>(
  signals: AbortSignal[],
  ms: number | null,
  work: (until: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const first = new AbortController()
  const abort = () => first.abort()
  if (ms === 0 || signals.some(({ aborted }) => aborted)) abort()
  const timer = ms === null ? undefined : setTimeout(abort, ms)
  for (const signal of signals) signal.addEventListener('abort', abort)
  try {
    return await work(first.signal)
  } finally {
    clearTimeout(timer)
    for (const signal of signals) signal.removeEventListener('abort', abort)
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof AskbackError && ['not_found', 'forbidden', 'invalid_request'].includes(error.code)
}
