import type { AgentContext, AgentProcess, Clock, ReportedEvent } from '@askback/core'
import { AGENT_ASKS, AGENT_DECIDES, errorMessage, type PermissionMode } from '@askback/protocol'
import type { ChildProgram } from '../program/child-program.js'
import { ndjsonChannel } from '../program/ndjson.js'
import { pause } from '../session/call-request.js'
import { withConversationRecord } from '../session/conversation-record.js'
import { JsonRpcAgent } from '../session/json-rpc-agent.js'
import { agentError, type TurnEndReason } from '../session/turn-log.js'
import { AcpSession } from './acp-session.js'
import { answerElicitation, answerPermission, type PermissionPorts } from './permission.js'
import type { AcpProtocol, Initialized, StopReason } from './protocol.js'
import { SessionUpdates } from './session-updates.js'

const INTERRUPT_TIMEOUT_MS = 5000

export interface AcpProcessOptions {
  /** The agent's name for people. */
  name: string
  /** The agent's mode outside plan mode. */
  mode?: string | undefined
  /** The agent's model if the session names none. */
  model?: string | undefined
  timeoutMs?: number | null
  clock: Clock
  newId: () => string
}

/**
 * The agent of one session, which speaks the Agent Client Protocol. It works on one prompt at a time. Messages that arrive
 * meanwhile are queued, and continue the same turn of the session.
 */
export class AcpProcess extends JsonRpcAgent<AcpProtocol> implements AgentProcess {
  readonly #options: AcpProcessOptions
  readonly #updates: SessionUpdates
  readonly #messages: string[] = []
  #session: AcpSession | null = null
  #mode: PermissionMode
  #hasExited = false
  /** Resolves when all messages are worked off; `null` if there are none. */
  #working: Promise<void> | null = null
  /** The first message of the fresh context that follows the current prompt. */
  #freshMessage: string | null = null
  /** The last notice about who decides; `undefined` before the first look, when an earlier process may have left one in the log. */
  #lastNotice: string | null | undefined = undefined
  /** Whether the agent has lost the conversation, and needs the record of the session before its next message. */
  #needsRecord = false

  constructor(context: AgentContext, child: ChildProgram, options: AcpProcessOptions) {
    super(context, child, {
      ...options,
      channel: ndjsonChannel(child.process),
      header: { jsonrpc: '2.0' },
    })
    this.#options = options
    this.#mode = context.permissionMode
    this.#updates = new SessionUpdates(this.turnLog, options.newId)
    child.exited.then(() => (this.#hasExited = true)).catch(() => {})
  }

  async open(signal: AbortSignal): Promise<void> {
    const { resume, agentSessionId, cwd } = this.context
    const handshake = async () => {
      const initialized = await this.connection.request<Initialized>('initialize', {
        protocolVersion: 1,
        clientCapabilities: {
          fs: { readTextFile: false, writeTextFile: false },
          terminal: false,
          elicitation: { form: {}, url: {} },
        },
        clientInfo: { name: 'askback', title: 'Askback', version: '0.1.0' },
      })
      const { name, mode } = this.#options
      const model = this.context.model ?? this.#options.model
      const options = { cwd: cwd ?? process.cwd(), name, mode, model }
      this.#session = new AcpSession(this.connection, initialized, options)
      if (resume) this.turnLog.begin(resume.turnId)
      await this.#openSession(agentSessionId)
    }
    await this.openWith(handshake, signal)
  }

  async send({ text, turnId }: { text: string; turnId: string }): Promise<void> {
    this.turnLog.begin(turnId)
    this.#messages.push(text)
    this.#startWork()
  }

  async interrupt(): Promise<void> {
    if (!this.turnLog.isOpen) return
    this.#messages.length = 0
    this.#freshMessage = null
    this.abortTurn()
    const working = this.#working
    if (!working) return this.endTurn('interrupted')
    this.#cancelPrompt()
    const done = new AbortController()
    await Promise.race([working, pause(this.clock, INTERRUPT_TIMEOUT_MS, done.signal)])
    done.abort()
    if (this.turnLog.isOpen) {
      await this.endTurn('interrupted')
      await this.program.kill()
    }
  }

  async setPermissionMode(mode: PermissionMode): Promise<void> {
    this.#mode = mode
    await this.#session?.setMode(mode)
    await this.#noteWhoDecides()
  }

  /** Reports once, for as long as it holds, that the agent does not leave decisions to people. */
  async #noteWhoDecides(): Promise<void> {
    const notice = this.#session?.decidesAloneNotice ?? null
    if (notice === this.#lastNotice) return
    this.#lastNotice = notice
    if (notice !== null) return this.turnLog.reportNotice(AGENT_DECIDES, notice)
    const { decidesAlone } = (await this.context.session.snapshot()).session
    if (decidesAlone)
      await this.turnLog.reportNotice(AGENT_ASKS, `${this.#options.name} asks you again before it acts.`)
  }

  async #openSession(earlier: string | null): Promise<void> {
    const opened = await this.#session?.open(earlier)
    this.#needsRecord = opened?.isLost ?? false
    if (this.#needsRecord) await this.turnLog.reportLostConversation(this.#options.name)
    await this.turnLog.report({ type: 'agent_session', agentSessionId: this.#sessionId })
    await this.setPermissionMode(this.#mode)
  }

  get #sessionId(): string {
    return this.#session?.sessionId ?? ''
  }

  #cancelPrompt(): void {
    this.connection.notify('session/cancel', { sessionId: this.#sessionId })
  }

  protected override async sendToModel(message: string, isFreshContext: boolean): Promise<void> {
    await this.setPermissionMode((await this.context.session.snapshot()).session.permissionMode)
    if (isFreshContext) await this.#openSession(null)
    this.#messages.unshift(message)
    this.#startWork()
  }

  #startWork(): void {
    if (this.#working) return
    this.interrupting = new AbortController()
    this.#working = this.#workOffMessages()
      .catch((error: unknown) => this.fail(error))
      .finally(() => {
        this.#working = null
      })
  }

  async #workOffMessages(): Promise<void> {
    for (let text = this.#messages.shift(); text !== undefined; text = this.#messages.shift()) {
      let stopReason: StopReason
      try {
        stopReason = await this.#prompt(text)
      } catch (error) {
        await this.connection.notificationsHandled
        if (this.isStopped) return
        if (this.interrupting.signal.aborted) return this.endTurn('interrupted')
        // The runner decides what happens to the turn of a lost agent.
        if (this.#hasExited) return
        await this.#updates.endBlock()
        return this.endTurn('error', agentError(errorMessage(error)))
      }
      await this.connection.notificationsHandled
      await this.#updates.logRest()
      if (this.interrupting.signal.aborted) return this.endTurn('interrupted')
      await this.#startFreshContext()
      const error = stopError(stopReason)
      if (error !== null && this.#messages.length === 0) return this.endTurn('error', agentError(error))
    }
    await this.endTurn('done')
  }

  async #prompt(message: string): Promise<StopReason> {
    const text = this.#needsRecord ? await withConversationRecord(this.context.session, message) : message
    this.#needsRecord = false
    const params = { sessionId: this.#sessionId, prompt: [{ type: 'text', text }] }
    return (await this.connection.request<{ stopReason: StopReason }>('session/prompt', params)).stopReason
  }

  async #startFreshContext(): Promise<void> {
    const message = this.#freshMessage
    this.#freshMessage = null
    if (message !== null) await this.sendToModel(message, true)
  }

  protected override async handleNotification({
    method,
    params,
  }: AcpProtocol['notification']): Promise<void> {
    if (method !== 'session/update' || this.#session?.isReplaying) return
    const { update } = params
    switch (update.sessionUpdate) {
      case 'current_mode_update':
      case 'config_option_update':
        this.#session?.modeChanged(update)
        return this.#noteWhoDecides()
      default:
        return this.#updates.handle(update)
    }
  }

  protected override async answerRequest({ method, params }: AcpProtocol['request']): Promise<unknown> {
    switch (method) {
      case 'session/request_permission':
        return answerPermission(params, this.#permissionPorts())
      case 'elicitation/create':
        return answerElicitation(params, this.#permissionPorts())
      default:
        throw new Error(`Askback does not answer ${String(method)}.`)
    }
  }

  #permissionPorts(): PermissionPorts {
    const { timeoutMs, name: agentName } = this.#options
    const updates = this.#updates
    return {
      session: this.context.session,
      editScope: this.editScope,
      clock: this.clock,
      agentName,
      programName: this.#session?.programName,
      grants: this.grants,
      ...(timeoutMs !== undefined && { timeoutMs }),
      signal: () => this.signal,
      logCall: (call) => updates.logRequestedCall(call),
      getCall: (toolCallId) => updates.getCall(toolCallId),
      watchCall: (toolCallId, onChange) => updates.watchCall(toolCallId, onChange),
      toolNameOf: (toolCallId) => updates.toolNameOf(toolCallId),
      reportNotice: (code, message) => this.turnLog.reportNotice(code, message),
      tellModel: (text) => void this.#messages.push(text),
      startFresh: (message) => {
        this.#freshMessage = message
        this.#cancelPrompt()
      },
    }
  }

  protected override async endTurn(reason: TurnEndReason, ...events: ReportedEvent[]): Promise<void> {
    this.#updates.reset()
    await super.endTurn(reason, ...events)
  }

  protected override async programLost(): Promise<void> {
    await this.#working
  }
}

function stopError(reason: StopReason): string | null {
  switch (reason) {
    case 'max_tokens':
      return 'The agent reached the most tokens that its model gives.'
    case 'max_turn_requests':
      return 'The agent reached the most requests that it makes in one turn.'
    case 'refusal':
      return 'The agent refused to go on.'
    case 'end_turn':
    case 'cancelled':
      return null
  }
}
