import { AGENT_LOST, type AgentContext, type AgentProcess, type Clock, type Reported } from '@askback/core'
import type { PermissionMode } from '@askback/protocol'
import type { AgentChild } from '../program/child.js'
import { lineChannel } from '../program/lines.js'
import type { Params } from '../program/peer.js'
import { pause } from '../session/asking.js'
import { messageOf, PeerAgent, problem, type TurnReason } from '../session/peer-agent.js'
import { Conversation } from './conversation.js'
import { elicitation, permission, type PermissionPorts } from './permission.js'
import type {
  ElicitationRequest,
  Initialized,
  PermissionRequest,
  SessionUpdate,
  StopReason,
} from './protocol.js'
import { Updates } from './updates.js'

const INTERRUPT_MS = 5000

export interface AcpOptions {
  name: string
  /** The agent's mode outside plan mode. */
  mode?: string | undefined
  timeoutMs?: number | null
  clock: Clock
  newId: () => string
}

/** A session's agent that speaks the Agent Client Protocol. */
export class AcpProcess extends PeerAgent implements AgentProcess {
  readonly #options: AcpOptions
  readonly #updates: Updates
  readonly #mail: string[] = []
  #conversation: Conversation | null = null
  #mode: PermissionMode
  #isGone = false
  #prompt: Promise<void> | null = null
  #fresh: string | null = null
  #noted: string | null = null

  constructor(context: AgentContext, child: AgentChild, options: AcpOptions) {
    super(context, child, { ...options, channel: lineChannel(child.process), stamp: { jsonrpc: '2.0' } })
    this.#options = options
    this.#mode = context.permissionMode
    this.#updates = new Updates(context, this.turn, options.newId)
    child.gone.then(() => (this.#isGone = true)).catch(() => {})
  }

  /** Says hello, and opens the agent's session. */
  async open(signal: AbortSignal): Promise<void> {
    const { resume, agentSessionId, cwd } = this.context
    await this.start(async () => {
      const can = await this.peer.request<Initialized>('initialize', {
        protocolVersion: 1,
        clientCapabilities: {
          fs: { readTextFile: false, writeTextFile: false },
          terminal: false,
          elicitation: { form: {}, url: {} },
        },
        clientInfo: { name: 'askback', title: 'Askback', version: '0.1.0' },
      })
      const { name, mode } = this.#options
      this.#conversation = new Conversation(this.peer, can, { cwd: cwd ?? process.cwd(), name, mode })
      if (resume) this.turn.begin(resume.turnId)
      await this.#openSession(agentSessionId)
    }, signal)
  }

  async send({ text, turnId }: { text: string; turnId: string }): Promise<void> {
    this.turn.begin(turnId)
    this.#mail.push(text)
    this.#next()
  }

  async interrupt(): Promise<void> {
    if (!this.turn.isOpen) return
    this.#mail.length = 0
    this.#fresh = null
    this.interrupting.abort()
    const prompt = this.#prompt
    if (!prompt) return this.endTurn('interrupted')
    this.#cancel()
    const timeout = new AbortController()
    await Promise.race([prompt, pause(this.#options.clock, INTERRUPT_MS, timeout.signal)])
    timeout.abort()
    if (this.turn.isOpen) {
      await this.endTurn('interrupted')
      await this.program.kill()
    }
  }

  async setPermissionMode(mode: PermissionMode): Promise<void> {
    this.#mode = mode
    await this.#setMode(mode)
  }

  async #setMode(mode: PermissionMode): Promise<void> {
    await this.#conversation?.setMode(mode)
    await this.#noteWhoDecides()
  }

  /** A person must know when the agent does not leave decisions to them. Says so once for as long as that holds. */
  async #noteWhoDecides(): Promise<void> {
    const alone = this.#conversation?.decidesAlone ?? null
    const isNews = alone !== this.#noted
    this.#noted = alone
    if (alone !== null && isNews) await this.#note('agent_decides', alone)
  }

  #note(code: string, message: string): Promise<void> {
    return this.turn.report({ type: 'error', code, message, fatal: false })
  }

  async #openSession(before: string | null): Promise<void> {
    const opened = await this.#conversation?.open(before)
    if (opened?.isLost) {
      const message = `${this.#options.name} has lost the earlier conversation, and starts a new one.`
      await this.#note(AGENT_LOST, message)
    }
    await this.turn.report({ type: 'agent_session', agentSessionId: this.#sessionId })
    await this.#setMode(this.#mode)
  }

  get #sessionId(): string {
    return this.#conversation?.sessionId ?? ''
  }

  #cancel(): void {
    this.peer.notify('session/cancel', { sessionId: this.#sessionId })
  }

  protected async goOn(message: string, isFresh: boolean): Promise<void> {
    await this.setPermissionMode((await this.context.session.snapshot()).session.permissionMode)
    if (isFresh) await this.#openSession(null)
    this.#mail.unshift(message)
    this.#next()
  }

  /** One prompt after the other: an agent takes no message while it works. */
  #next(): void {
    if (this.#prompt) return
    this.interrupting = new AbortController()
    this.#prompt = this.#work()
      .catch((error: unknown) => this.fail(error))
      .finally(() => {
        this.#prompt = null
      })
  }

  async #work(): Promise<void> {
    for (let text = this.#mail.shift(); text !== undefined; text = this.#mail.shift()) {
      let stopReason: StopReason
      try {
        stopReason = await this.#ask(text)
      } catch (error) {
        await this.peer.settled
        if (this.isStopped) return
        if (this.interrupting.signal.aborted) return this.endTurn('interrupted')
        // With the process gone there is more to do than to end the turn.
        if (this.#isGone) return
        await this.#updates.flush()
        return this.endTurn('error', problem(messageOf(error)))
      }
      await this.peer.settled
      await this.#updates.finish()
      if (this.interrupting.signal.aborted) return this.endTurn('interrupted')
      await this.#afresh()
      const why = problemOf(stopReason)
      if (why !== null && this.#mail.length === 0) return this.endTurn('error', problem(why))
    }
    await this.endTurn('done')
  }

  async #ask(text: string): Promise<StopReason> {
    const prompt = [{ type: 'text', text }]
    const asked = { sessionId: this.#sessionId, prompt }
    return (await this.peer.request<{ stopReason: StopReason }>('session/prompt', asked)).stopReason
  }

  async #afresh(): Promise<void> {
    const message = this.#fresh
    this.#fresh = null
    if (message !== null) await this.goOn(message, true)
  }

  protected async heard(method: string, params: Params): Promise<void> {
    if (method !== 'session/update' || this.#conversation?.isReplaying) return
    const update = params['update'] as SessionUpdate
    switch (update.sessionUpdate) {
      case 'current_mode_update':
      case 'config_option_update':
        this.#conversation?.modeChanged(update)
        return this.#noteWhoDecides()
      default:
        return this.#updates.heard(update)
    }
  }

  protected async asked(method: string, params: Params): Promise<unknown> {
    switch (method) {
      case 'session/request_permission':
        return permission(params as unknown as PermissionRequest, this.#ports())
      case 'elicitation/create':
        return elicitation(params as unknown as ElicitationRequest, this.#ports())
      default:
        throw new Error(`Askback does not answer ${method}.`)
    }
  }

  #ports(): PermissionPorts {
    const { clock, timeoutMs, name: agentName } = this.#options
    return {
      session: this.context.session,
      editScope: this.editScope,
      clock,
      agentName,
      grants: this.grants,
      ...(timeoutMs !== undefined && { timeoutMs }),
      signal: () => this.signal,
      announce: (call) => this.#updates.announce(call),
      known: (toolCallId) => this.#updates.known(toolCallId),
      watch: (toolCallId, changed) => this.#updates.watch(toolCallId, changed),
      nameOf: (toolCallId) => this.#updates.nameOf(toolCallId),
      note: (code, message) => this.#note(code, message),
      tell: (text) => void this.#mail.push(text),
      startAfresh: (message) => {
        this.#fresh = message
        this.#cancel()
      },
    }
  }

  protected async endTurn(reason: TurnReason, ...events: Reported[]): Promise<void> {
    this.grants.clear()
    this.#updates.newTurn()
    await this.turn.end(reason, ...events)
  }

  protected async lost(): Promise<void> {
    await this.#prompt
  }
}

function problemOf(reason: StopReason): string | null {
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
