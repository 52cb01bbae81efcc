import {
  AGENT_LOST,
  type AgentContext,
  type AgentProcess,
  type Clock,
  type Ending,
  type Reported,
} from '@askback/core'
import { AskbackError, type Json, type PermissionMode } from '@askback/protocol'
import { pause } from '../session/asking.js'
import type { AgentChild } from '../program/child.js'
import { Grants } from '../session/grants.js'
import { planMessage } from '../session/plan.js'
import { LinePeer, type Params } from '../program/line-peer.js'
import { outcomesOf, resumeMessage, type Outcome } from '../session/take-up.js'
import { Turn } from '../session/turn.js'
import { Calls } from './calls.js'
import { elicitation, permission, type PermissionPorts } from './permission.js'
import type {
  ElicitationRequest,
  Initialized,
  OpenedSession,
  PermissionRequest,
  SessionUpdate,
  StopReason,
} from './protocol.js'

const INTERRUPT_MS = 5000

export interface AcpOptions {
  name: string
  timeoutMs?: number | null
  clock: Clock
  newId: () => string
}

/** A session's agent that speaks the Agent Client Protocol. */
export class AcpProcess implements AgentProcess {
  readonly ended: Promise<Ending>
  readonly #context: AgentContext
  readonly #options: AcpOptions
  readonly #child: AgentChild
  readonly #peer: LinePeer
  readonly #turn: Turn
  readonly #grants = new Grants()
  readonly #stop = new AbortController()
  readonly #mail: string[] = []
  #calls = new Calls()
  #can: Initialized = {}
  #sessionId = ''
  #modes: OpenedSession['modes'] = null
  #mode: PermissionMode
  #block: { type: 'text' | 'thinking'; blockId: string; text: string } | null = null
  #isReplaying = false
  #isGone = false
  #prompt: Promise<void> | null = null
  #fresh: string | null = null
  #interrupt = new AbortController()
  #end: (ending: Ending) => void = () => {}

  constructor(context: AgentContext, child: AgentChild, options: AcpOptions) {
    this.#context = context
    this.#options = options
    this.#child = child
    this.#mode = context.permissionMode
    this.#turn = new Turn(context)
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
    const handlers = {
      request: (method: string, params: Params) => this.#asked(method, params),
      notification: (method: string, params: Params) => this.#heard(method, params),
      failed: (error: unknown) => void this.#fail(error),
    }
    const pipes = { input: child.process.stdout, output: child.process.stdin }
    this.#peer = new LinePeer(pipes, handlers, { jsonrpc: '2.0' })
    child.gone.then(() => this.#gone()).catch(() => {})
  }

  /** Says hello, and opens the agent's session. */
  async open(): Promise<void> {
    const { resume, agentSessionId } = this.#context
    try {
      this.#can = await this.#peer.request<Initialized>('initialize', {
        protocolVersion: 1,
        clientCapabilities: {
          fs: { readTextFile: false, writeTextFile: false },
          terminal: false,
          elicitation: { form: {}, url: {} },
        },
        clientInfo: { name: 'askback', title: 'Askback', version: '0.1.0' },
      })
      if (resume) this.#turn.begin(resume.turnId)
      await this.#openSession(agentSessionId)
    } catch (error) {
      await this.stop()
      const message = error instanceof Error ? error.message : String(error)
      throw new AskbackError('unavailable', message, { cause: error })
    }
    if (resume) this.#takeUp(resume).catch((error: unknown) => this.#fail(error))
  }

  async send({ text, turnId }: { text: string; turnId: string }): Promise<void> {
    this.#turn.begin(turnId)
    this.#mail.push(text)
    this.#next()
  }

  async interrupt(): Promise<void> {
    if (!this.#turn.isOpen) return
    this.#mail.length = 0
    this.#fresh = null
    this.#interrupt.abort()
    const prompt = this.#prompt
    if (!prompt) return this.#endTurn('interrupted')
    this.#peer.notify('session/cancel', { sessionId: this.#sessionId })
    const timeout = new AbortController()
    await Promise.race([prompt, pause(this.#options.clock, INTERRUPT_MS, timeout.signal)])
    timeout.abort()
    if (this.#turn.isOpen) {
      await this.#endTurn('interrupted')
      await this.#child.kill()
    }
  }

  async setPermissionMode(mode: PermissionMode): Promise<void> {
    this.#mode = mode
    await this.#tellMode()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    this.#peer.close('The session was stopped.')
    await this.#child.kill()
    this.#end({ how: 'stopped' })
  }

  async #openSession(before: string | null): Promise<void> {
    const place = { cwd: this.#context.cwd ?? process.cwd(), mcpServers: [] }
    const opened = before === null ? null : await this.#reopen(before, place)
    if (before !== null && !opened) {
      const message = `${this.#options.name} has lost the earlier conversation, and starts a new one.`
      await this.#turn.report({ type: 'error', code: AGENT_LOST, message, fatal: false })
    }
    const session = opened ?? (await this.#peer.request<OpenedSession>('session/new', place))
    this.#sessionId = session.sessionId ?? before ?? ''
    this.#modes = session.modes ?? null
    await this.#turn.report({ type: 'agent_session', agentSessionId: this.#sessionId })
    await this.#tellMode()
  }

  /** `null` if the agent cannot, or does not know it any more. */
  async #reopen(sessionId: string, place: object): Promise<OpenedSession | null> {
    const { loadSession, sessionCapabilities } = this.#can.agentCapabilities ?? {}
    const method = sessionCapabilities?.resume ? 'session/resume' : loadSession ? 'session/load' : null
    if (method === null) return null
    // It tells everything once more that the log has already.
    this.#isReplaying = true
    try {
      const opened = await this.#peer.request<OpenedSession | null>(method, { sessionId, ...place })
      return { ...opened, sessionId }
    } catch {
      return null
    } finally {
      await this.#peer.settled
      this.#isReplaying = false
    }
  }

  /** Plan mode is a way to work, so the agent must know of it; all other modes only say who decides. */
  async #tellMode(): Promise<void> {
    const modeId = this.#mode === 'plan' ? 'plan' : 'default'
    const isThere = this.#modes?.availableModes.some(({ id }) => id === modeId)
    if (!this.#modes || !isThere || this.#modes.currentModeId === modeId) return
    this.#modes = { ...this.#modes, currentModeId: modeId }
    await this.#peer.request('session/set_mode', { sessionId: this.#sessionId, modeId }).catch(() => {})
  }

  /** One prompt after the other: an agent takes no message while it works. */
  #next(): void {
    if (this.#prompt) return
    this.#interrupt = new AbortController()
    this.#prompt = this.#work()
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#prompt = null
      })
  }

  async #work(): Promise<void> {
    for (let text = this.#mail.shift(); text !== undefined; text = this.#mail.shift()) {
      const prompt = [{ type: 'text', text }]
      let stopReason: StopReason
      try {
        const done = this.#peer.request<{ stopReason: StopReason }>('session/prompt', {
          sessionId: this.#sessionId,
          prompt,
        })
        stopReason = (await done).stopReason
      } catch (error) {
        await this.#peer.settled
        if (this.#stop.signal.aborted) return
        if (this.#interrupt.signal.aborted) return this.#endTurn('interrupted')
        // With the process gone there is more to do than to end the turn.
        if (this.#isGone) return
        await this.#flush()
        const message = error instanceof Error ? error.message : String(error)
        return this.#endTurn('error', { type: 'error', code: 'agent_error', message, fatal: false })
      }
      await this.#peer.settled
      await this.#flush()
      await this.#turn.report(...this.#calls.rest())
      if (this.#interrupt.signal.aborted) return this.#endTurn('interrupted')
      await this.#afresh()
      const problem = problemOf(stopReason)
      if (problem !== null && this.#mail.length === 0)
        return this.#endTurn('error', { type: 'error', code: 'agent_error', message: problem, fatal: false })
    }
    await this.#endTurn('done')
  }

  async #afresh(): Promise<void> {
    const message = this.#fresh
    if (message === null) return
    this.#fresh = null
    this.#mode = (await this.#context.session.snapshot()).session.permissionMode
    await this.#openSession(null)
    this.#mail.unshift(message)
  }

  async #heard(method: string, params: Params): Promise<void> {
    if (method !== 'session/update' || this.#isReplaying || this.#stop.signal.aborted) return
    const update = params['update'] as SessionUpdate
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        return this.#chunk('text', update.content.text ?? '')
      case 'agent_thought_chunk':
        return this.#chunk('thinking', update.content.text ?? '')
      case 'tool_call':
      case 'tool_call_update':
        await this.#flush()
        return this.#turn.report(...this.#calls.update(update))
      case 'plan':
        await this.#flush()
        return this.#plan(update.entries)
      case 'other':
        return
    }
  }

  async #chunk(type: 'text' | 'thinking', text: string): Promise<void> {
    if (text === '') return
    if (this.#block?.type !== type) await this.#flush()
    this.#block ??= { type, blockId: this.#options.newId(), text: '' }
    this.#block.text += text
    const { blockId } = this.#block
    this.#context.live({ type: type === 'text' ? 'text_delta' : 'thinking_delta', blockId, text })
  }

  /** A block is whole when something else begins. */
  async #flush(): Promise<void> {
    const block = this.#block
    this.#block = null
    if (block) await this.#turn.report(block)
  }

  /** Its list of things to do, as it stands: each state of it is a call of its own. */
  async #plan(entries: object[]): Promise<void> {
    const toolCallId = this.#options.newId()
    const input = { entries: entries as Json }
    await this.#turn.report(
      { type: 'tool_call', toolCallId, toolName: 'update_plan', input, source: 'agent' },
      { type: 'tool_result', toolCallId, output: '', isError: false },
    )
  }

  async #asked(method: string, params: Params): Promise<unknown> {
    try {
      switch (method) {
        case 'session/request_permission':
          return await permission(params as unknown as PermissionRequest, this.#ports())
        case 'elicitation/create':
          return await elicitation(params as unknown as ElicitationRequest, this.#ports())
        default:
          throw new Error(`Askback does not answer ${method}.`)
      }
    } catch (error) {
      // Its process is being ended: any answer would make it talk to its model once more.
      if (this.#stop.signal.aborted) return new Promise(() => {})
      throw error
    }
  }

  #ports(): PermissionPorts {
    const { clock, timeoutMs, name: agentName } = this.#options
    return {
      session: this.#context.session,
      cwd: this.#context.cwd,
      clock,
      agentName,
      grants: this.#grants,
      ...(timeoutMs !== undefined && { timeoutMs }),
      signal: () => AbortSignal.any([this.#stop.signal, this.#interrupt.signal]),
      announce: async (call) => {
        await this.#flush()
        const asked = this.#calls.asked(call)
        await this.#turn.report(...this.#calls.tell(call.toolCallId))
        return asked
      },
      nameOf: (toolCallId) => this.#calls.nameOf(toolCallId),
      tell: (text) => void this.#mail.push(text),
      startAfresh: (message) => {
        this.#fresh = message
        this.#peer.notify('session/cancel', { sessionId: this.#sessionId })
      },
    }
  }

  async #endTurn(reason: 'done' | 'error' | 'interrupted', ...events: Reported[]): Promise<void> {
    this.#grants.clear()
    this.#calls = new Calls()
    await this.#turn.end(reason, ...events)
  }

  /** A turn that was cut: waits for what is pending in it, then tells the agent what came of it. */
  async #takeUp(resume: NonNullable<AgentContext['resume']>): Promise<void> {
    const signal = AbortSignal.any([this.#stop.signal, this.#interrupt.signal])
    const outcomes = await outcomesOf(this.#context, resume, signal).catch((error: unknown) => {
      if (signal.aborted) return []
      throw error
    })
    if (outcomes.length > 0 && !signal.aborted) await this.#tellOutcomes(outcomes)
  }

  async #tellOutcomes(outcomes: Outcome[]): Promise<void> {
    const fresh = outcomes.find(({ plan }) => plan !== undefined)?.plan
    if (fresh !== undefined) await this.#openSession(null)
    for (const { granted, interaction, told, isError } of outcomes) {
      const { toolCallId } = interaction
      const result = { type: 'tool_result', toolCallId, output: told, isError } as const
      if (granted) {
        this.#grants.add(interaction)
        this.#turn.atEnd(result)
      } else await this.#turn.report(result)
    }
    this.#mail.unshift(fresh === undefined ? resumeMessage(outcomes) : planMessage(fresh))
    this.#next()
  }

  async #gone(): Promise<void> {
    this.#isGone = true
    await this.#peer.settled
    const why = this.#child.complaint
    const message = `${this.#options.name} ended${why === '' ? '.' : `: ${why}`}`
    this.#peer.close(message)
    await this.#prompt
    if (this.#stop.signal.aborted) return
    this.#end({ how: 'lost', message })
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#stop.signal.aborted) return
    const message = error instanceof Error ? error.message : String(error)
    try {
      await this.#endTurn('error', { type: 'error', code: 'agent_error', message, fatal: false })
    } catch {
      // The log takes nothing any more, so that nobody can be told.
    }
    await this.#child.kill()
    this.#end({ how: 'lost', message })
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
