import type { AgentContext, AgentProcess, Clock, ReportedEvent } from '@askback/core'
import { AGENT_DECIDES, type PermissionMode } from '@askback/protocol'
import { pause } from '../session/call-request.js'
import { withConversationRecord } from '../session/conversation-record.js'
import { JsonRpcAgent } from '../session/json-rpc-agent.js'
import { planReviewResult } from '../session/model-messages.js'
import type { TurnEndReason } from '../session/turn-log.js'
import type { AppServer } from './app-server.js'
import type { CodexProtocol, CodexTurn, ThreadOpened } from './app-server-protocol.js'
import { failureEvent, PLAN_TOOL } from './events.js'
import { answerRequest, type RequestPorts } from './requests.js'
import { decidesAloneNotice, resumeThread, startThread } from './thread.js'
import { ThreadLog } from './thread-log.js'

const INTERRUPT_TIMEOUT_MS = 5000
/** How long Codex may take to write to its files that a turn has ended. */
const TURN_WRITTEN_MS = 500

export interface AppServerProcessOptions {
  timeoutMs?: number | null
  clock: Clock
  newId: () => string
}

/**
 * The Codex of one session: one `codex app-server` with one thread.
 *
 * A turn of the session may consist of several turns of Codex. A plan ends the turn of Codex, but the turn of the session
 * continues with the review, and with the turn of Codex that carries the plan out.
 */
export class AppServerProcess extends JsonRpcAgent<CodexProtocol> implements AgentProcess {
  /** Whether the server has answered at all: before that a start may be repeated. */
  isInitialized = false
  readonly #options: AppServerProcessOptions
  readonly #threadLog: ThreadLog
  #thread: ThreadOpened | null = null
  #mode: PermissionMode
  /** The mode of the thread's last turn. */
  #threadMode: 'plan' | 'default' = 'default'
  #codexTurnId: string | null = null
  /** Messages are sent one after the other. */
  #sending: Promise<unknown> = Promise.resolve()
  #rejoining: Promise<unknown> = Promise.resolve()
  /** Set while an interrupt waits for the end of the turn. */
  #resolveInterrupt: (() => void) | null = null
  #isCommandTimePaused = false
  /** Whether Codex has lost the thread, and needs the record of the session before its next message. */
  #needsRecord = false

  constructor(context: AgentContext, { program, channel }: AppServer, options: AppServerProcessOptions) {
    super(context, program, { name: 'Codex', channel, ...options })
    this.#options = options
    this.#mode = context.permissionMode
    this.#threadLog = new ThreadLog(this.turnLog)
  }

  async open(signal: AbortSignal): Promise<void> {
    const { resume, agentSessionId } = this.context
    const handshake = async () => {
      await this.#initialize()
      if (resume) this.turnLog.begin(resume.turnId)
      await this.#openThread(agentSessionId)
    }
    await this.openWith(handshake, signal)
  }

  /**
   * Continues with a thread that has been running without a gateway, in the turn that it runs for. Returns `false` and ends
   * the server if there is no such turn.
   */
  async rejoin(): Promise<boolean> {
    const rejoined = this.#rejoin().catch(() => false)
    // Requests and notifications that arrive meanwhile are handled after what the thread did before.
    this.#rejoining = Promise.race([rejoined, this.program.exited])
    const isRejoined = await rejoined
    if (!isRejoined) await this.stop()
    return isRejoined
  }

  async send({ text, turnId }: { text: string; turnId: string }): Promise<void> {
    this.turnLog.begin(turnId)
    await this.#sending
    await this.#send(text)
  }

  async interrupt(): Promise<void> {
    if (!this.turnLog.isOpen) return
    this.abortTurn()
    await this.#sending.catch(() => {})
    const turnId = this.#codexTurnId
    if (turnId === null) return this.endTurn('interrupted')
    const turnEnded = new Promise<void>((resolve) => {
      this.#resolveInterrupt = resolve
    })
    const done = new AbortController()
    const timeout = pause(this.clock, INTERRUPT_TIMEOUT_MS, done.signal)
    const requested = this.connection.request('turn/interrupt', { threadId: this.#threadId, turnId })
    await Promise.race([requested.then(() => turnEnded).catch(() => {}), timeout])
    done.abort()
    if (!this.turnLog.isOpen) return
    await this.program.kill()
    await Promise.race([turnEnded, this.ended])
  }

  async setPermissionMode(mode: PermissionMode): Promise<void> {
    this.#mode = mode
  }

  /**
   * Codex hands a command back to its model when it runs too long. While a script in the command waits for a person, that
   * time is paused.
   */
  async setWaiting(isWaiting: boolean): Promise<void> {
    if (isWaiting === this.#isCommandTimePaused || !this.#thread) return
    this.#isCommandTimePaused = isWaiting
    const method = isWaiting ? 'thread/increment_elicitation' : 'thread/decrement_elicitation'
    // Older versions do not know the method. Then the model may become impatient.
    await this.connection.request(method, { threadId: this.#threadId }).catch(() => {})
  }

  async #initialize(): Promise<void> {
    await this.connection.request('initialize', {
      clientInfo: { name: 'askback', title: 'Askback', version: '0.1.0' },
      capabilities: { experimentalApi: true, requestAttestation: false },
    })
    this.isInitialized = true
    this.connection.notify('initialized')
  }

  async #rejoin(): Promise<boolean> {
    const { resume, agentSessionId } = this.context
    if (!resume || agentSessionId === null) return false
    await this.#initialize()
    const find = () => resumeThread(this.connection, agentSessionId, this.context)
    let thread = await find()
    // A turn that has just ended counts as interrupted until Codex has written that it is done.
    if (thread?.thread.turns?.at(-1)?.status === 'interrupted') {
      await pause(this.clock, TURN_WRITTEN_MS, this.signal)
      thread = await find()
    }
    const last = thread?.thread.turns?.at(-1)
    const isOurs = last?.items?.some((item) => item.type === 'userMessage' && item.clientId === resume.turnId)
    if (!thread || !last || !isOurs) return false
    this.#thread = thread
    this.#threadMode = thread.collaborationMode?.mode === 'plan' ? 'plan' : 'default'
    this.#isCommandTimePaused = resume.state.status === 'waiting'
    this.#codexTurnId = last.id
    this.turnLog.begin(resume.turnId)
    this.#threadLog.addLogged(resume.state.toolCalls)
    for (const item of last.items ?? []) {
      if (item.status === 'inProgress') await this.#threadLog.itemStarted(item)
      else await this.#threadLog.itemCompleted(item)
    }
    if (last.status !== 'inProgress') await this.#codexTurnEnded(last)
    return true
  }

  get #threadId(): string {
    return this.#thread?.thread.id ?? ''
  }

  async #openThread(threadId: string | null): Promise<void> {
    const resumed = threadId === null ? null : await resumeThread(this.connection, threadId, this.context)
    this.#thread = resumed ?? (await startThread(this.connection, this.context))
    this.#threadMode = 'default'
    this.#needsRecord = threadId !== null && !resumed
    if (this.#needsRecord) await this.turnLog.reportLostConversation('Codex')
    await this.turnLog.report({ type: 'agent_session', agentSessionId: this.#threadId })
    const notice = decidesAloneNotice(this.#thread)
    if (notice !== null) await this.turnLog.reportNotice(AGENT_DECIDES, notice)
  }

  #send(text: string): Promise<void> {
    const sent = this.#sending.catch(() => {}).then(() => this.#startOrSteerTurn(text))
    this.#sending = sent
    return sent
  }

  async #startOrSteerTurn(text: string): Promise<void> {
    if (this.#codexTurnId !== null && (await this.#steerTurn(text, this.#codexTurnId))) return
    this.interrupting = new AbortController()
    this.turnLog.programTurnStarts()
    const mode = this.#mode === 'plan' ? 'plan' : 'default'
    const settings = { model: this.#thread?.model, reasoning_effort: null, developer_instructions: null }
    const collaborationMode = mode === this.#threadMode ? {} : { collaborationMode: { mode, settings } }
    const input = this.#needsRecord ? await withConversationRecord(this.context.session, text) : text
    this.#needsRecord = false
    const started = await this.connection.request<{ turn: CodexTurn }>('turn/start', {
      threadId: this.#threadId,
      input: textInput(input),
      // `rejoin` finds the turn by this id.
      clientUserMessageId: this.turnLog.turnId,
      ...collaborationMode,
    })
    this.#threadMode = mode
    this.#codexTurnId = started.turn.id
  }

  /** Adds a message to the running turn. Returns whether Codex has accepted it. */
  async #steerTurn(text: string, expectedTurnId: string): Promise<boolean> {
    return this.connection
      .request('turn/steer', { threadId: this.#threadId, input: textInput(text), expectedTurnId })
      .then(
        () => true,
        () => false,
      )
  }

  protected override async sendToModel(message: string, isFreshContext: boolean): Promise<void> {
    this.#mode = (await this.context.session.snapshot()).session.permissionMode
    if (isFreshContext) await this.#openThread(null)
    await this.#send(message)
  }

  protected override async handleNotification(notification: CodexProtocol['notification']): Promise<void> {
    await this.#rejoining
    if (this.#thread && notification.params.threadId !== this.#threadId) return
    if (notification.method === 'turn/completed') await this.#codexTurnEnded(notification.params.turn)
    else await this.#threadLog.handle(notification)
  }

  async #codexTurnEnded({ id, status, error }: CodexTurn): Promise<void> {
    if (this.#codexTurnId !== null && id !== this.#codexTurnId) return
    this.#codexTurnId = null
    const plan = this.#threadLog.endProgramTurn()
    if (status === 'failed') {
      const said = [error?.message, error?.additionalDetails].filter(Boolean).join(' ')
      return this.endTurn('error', failureEvent(said))
    }
    if (status === 'interrupted' || this.#resolveInterrupt) return this.endTurn('interrupted')
    if (!plan || this.#mode !== 'plan') return this.endTurn('done')
    this.#reviewPlan(plan).catch((failure: unknown) => this.fail(failure))
  }

  async #reviewPlan({ id: toolCallId, text: plan }: { id: string; text: string }): Promise<void> {
    const { signal } = this
    const settled = await this.context.session
      .reviewPlan({ plan, toolCallId, toolName: PLAN_TOOL, attach: true, signal, ...this.#timeout() })
      .catch((error: unknown) => {
        if (signal.aborted) return null
        throw error
      })
    if (!settled) return
    const { output, isError, nextMessage, isFreshContext } = planReviewResult(settled, plan)
    await this.turnLog.reportToolResult(toolCallId, output, isError)
    if (nextMessage === null) await this.endTurn('done')
    else await this.sendToModel(nextMessage, isFreshContext)
  }

  protected override async endTurn(reason: TurnEndReason, ...events: ReportedEvent[]): Promise<void> {
    const resolveInterrupt = this.#resolveInterrupt
    this.#resolveInterrupt = null
    await super.endTurn(reason, ...events)
    resolveInterrupt?.()
  }

  protected override async programLost(): Promise<void> {
    if (this.#resolveInterrupt) await this.endTurn('interrupted')
  }

  protected override async answerRequest(request: CodexProtocol['request']): Promise<unknown> {
    await this.#rejoining
    return answerRequest(request, this.#requestPorts())
  }

  #requestPorts(): RequestPorts {
    return {
      session: this.context.session,
      editScope: this.editScope,
      clock: this.clock,
      grants: this.grants,
      ...this.#timeout(),
      signal: () => this.signal,
      logCall: (call) => this.turnLog.report({ type: 'tool_call', source: 'agent', ...call }),
      logResult: (toolCallId, output, isError) => this.turnLog.reportToolResult(toolCallId, output, isError),
      changesOf: (itemId) => this.#threadLog.changesOf(itemId),
      lastCallTo: (server) => this.#threadLog.lastCallTo(server),
      hasPendingRequest: (toolCallId) =>
        this.context.resume?.state.pending.some((item) => item.toolCallId === toolCallId) ?? false,
      tellModel: (text) => this.#tellModel(text),
      agentIdOf: (threadId) => (threadId === this.#threadId ? undefined : threadId),
    }
  }

  #timeout(): { timeoutMs?: number | null } {
    const { timeoutMs } = this.#options
    return timeoutMs === undefined ? {} : { timeoutMs }
  }

  async #tellModel(text: string): Promise<void> {
    if (this.#codexTurnId !== null && !this.interrupting.signal.aborted)
      await this.#steerTurn(text, this.#codexTurnId)
  }
}

function textInput(text: string): object[] {
  return [{ type: 'text', text, text_elements: [] }]
}
