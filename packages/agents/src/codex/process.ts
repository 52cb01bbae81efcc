import { AGENT_LOST, type AgentContext, type AgentProcess, type Ending, type Reported } from '@askback/core'
import { AskbackError, type Json, type PermissionMode } from '@askback/protocol'
import { pause } from '../session/asking.js'
import type { AgentChild } from '../program/child.js'
import { Grants } from '../session/grants.js'
import { LinePeer, type Params } from '../program/line-peer.js'
import { outcomesOf, resumeMessage, type Outcome } from '../session/take-up.js'
import { Turn } from '../session/turn.js'
import type { FileChange, ThreadItem, ThreadOpened, Turn as CodexTurn } from './app-server.js'
import { endOf, PLAN, startOf } from './items.js'
import { planMessage, reviewOf } from '../session/plan.js'
import { answerRequest } from './requests.js'
import { openThread } from './thread.js'
import type { CodexOptions } from './options.js'

const INTERRUPT_MS = 5000

/** A session's Codex: one `codex app-server`, and the thread in it that is the session's. */
export class CodexProcess implements AgentProcess {
  readonly ended: Promise<Ending>
  readonly #context: AgentContext
  readonly #options: CodexOptions
  readonly #child: AgentChild
  readonly #peer: LinePeer
  readonly #turn: Turn
  readonly #grants = new Grants()
  readonly #stop = new AbortController()
  readonly #items = new Map<string, ThreadItem>()
  #thread: ThreadOpened | null = null
  #mode: PermissionMode
  #toldMode: 'plan' | 'default' = 'default'
  #codexTurn: string | null = null
  #starting: Promise<unknown> = Promise.resolve()
  #interrupt = new AbortController()
  #interrupted: (() => void) | null = null
  #isPaused = false
  #hasToldRetry = false
  #end: (ending: Ending) => void = () => {}

  constructor(context: AgentContext, child: AgentChild, options: CodexOptions) {
    this.#context = context
    this.#options = options
    this.#child = child
    this.#mode = context.permissionMode
    this.#turn = new Turn(context)
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
    const pipes = { input: child.process.stdout, output: child.process.stdin }
    this.#peer = new LinePeer(pipes, {
      request: (method, params) => this.#asked(method, params),
      notification: (method, params) => this.#heard(method, params),
      failed: (error) => void this.#fail(error),
    })
    child.gone.then(() => this.#gone()).catch(() => {})
  }

  /** Says hello, and opens the thread. */
  async open(): Promise<void> {
    const { resume } = this.#context
    try {
      await this.#peer.request('initialize', {
        clientInfo: { name: 'askback', title: 'Askback', version: '0.1.0' },
        capabilities: { experimentalApi: true, requestAttestation: false },
      })
      this.#peer.notify('initialized')
      if (resume) this.#turn.begin(resume.turnId)
      await this.#openThread(this.#context.agentSessionId)
    } catch (error) {
      await this.stop()
      const message = error instanceof Error ? error.message : String(error)
      throw new AskbackError('unavailable', message, { cause: error })
    }
    if (resume) this.#takeUp(resume).catch((error: unknown) => this.#fail(error))
  }

  async send({ text, turnId }: { text: string; turnId: string }): Promise<void> {
    this.#turn.begin(turnId)
    await this.#starting
    await this.#say(text)
  }

  async interrupt(): Promise<void> {
    if (!this.#turn.isOpen) return
    this.#interrupt.abort()
    await this.#starting.catch(() => {})
    const turnId = this.#codexTurn
    if (turnId === null) return this.#endTurn('interrupted')
    const over = new Promise<void>((resolve) => {
      this.#interrupted = resolve
    })
    const timeout = new AbortController()
    const late = pause(this.#options.clock, INTERRUPT_MS, timeout.signal)
    const asked = this.#peer.request('turn/interrupt', { threadId: this.#threadId, turnId })
    await Promise.race([asked.then(() => over).catch(() => {}), late])
    timeout.abort()
    if (this.#turn.isOpen) await this.#child.kill()
  }

  async setPermissionMode(mode: PermissionMode): Promise<void> {
    this.#mode = mode
  }

  /** While a script in its shell waits for a person, the program's patience with that shell does not run out. */
  async setWaiting(isWaiting: boolean): Promise<void> {
    if (isWaiting === this.#isPaused || !this.#thread) return
    this.#isPaused = isWaiting
    const method = isWaiting ? 'thread/increment_elicitation' : 'thread/decrement_elicitation'
    // An older program without it is only less patient.
    await this.#peer.request(method, { threadId: this.#threadId }).catch(() => {})
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    this.#peer.close('The session was stopped.')
    await this.#child.kill()
    this.#end({ how: 'stopped' })
  }

  get #threadId(): string {
    return this.#thread?.thread.id ?? ''
  }

  get #isPlanning(): boolean {
    return this.#mode === 'plan'
  }

  async #openThread(threadId: string | null): Promise<void> {
    const { cwd, model } = this.#context
    const opened = await openThread(this.#peer, threadId, { cwd, model })
    this.#thread = opened
    this.#toldMode = 'default'
    if (opened.isLost) {
      const message = 'Codex has lost the earlier conversation, and starts a new one.'
      await this.#turn.report({ type: 'error', code: AGENT_LOST, message, fatal: false })
    }
    await this.#turn.report({ type: 'agent_session', agentSessionId: this.#threadId })
  }

  /** Starts a turn of the program's, or adds to the one that runs. */
  #say(text: string): Promise<void> {
    const said = this.#starting.catch(() => {}).then(() => this.#startOrSteer(text))
    this.#starting = said
    return said
  }

  async #startOrSteer(text: string): Promise<void> {
    const threadId = this.#threadId
    const input = [{ type: 'text', text, text_elements: [] }]
    if (this.#codexTurn !== null) {
      const steer = { threadId, input, expectedTurnId: this.#codexTurn }
      const isSteered = await this.#peer.request('turn/steer', steer).then(
        () => true,
        () => false,
      )
      if (isSteered) return
    }
    this.#interrupt = new AbortController()
    const mode = this.#isPlanning ? 'plan' : 'default'
    const settings = { model: this.#thread?.model, reasoning_effort: null, developer_instructions: null }
    const collaborationMode = mode === this.#toldMode ? {} : { collaborationMode: { mode, settings } }
    const started = await this.#peer.request<{ turn: CodexTurn }>('turn/start', {
      threadId,
      input,
      ...collaborationMode,
    })
    this.#toldMode = mode
    this.#codexTurn = started.turn.id
  }

  async #heard(method: string, params: Params): Promise<void> {
    const { threadId } = params as { threadId?: string }
    if (this.#stop.signal.aborted || (this.#thread && threadId !== this.#threadId)) return
    switch (method) {
      case 'item/started':
        return this.#itemStarted((params as { item: ThreadItem } & Params).item)
      case 'item/completed':
        return this.#itemCompleted((params as { item: ThreadItem } & Params).item)
      case 'item/agentMessage/delta':
        return this.#delta('text_delta', params)
      case 'item/reasoning/summaryTextDelta':
        return this.#delta('thinking_delta', params)
      case 'item/commandExecution/outputDelta':
        return this.#context.live({
          type: 'tool_output_delta',
          toolCallId: params['itemId'] as string,
          text: params['delta'] as string,
        })
      case 'turn/plan/updated':
        return this.#planUpdated(params)
      case 'thread/tokenUsage/updated': {
        const { last } = params['tokenUsage'] as { last: { inputTokens: number; outputTokens: number } }
        return this.#turn.count(last)
      }
      case 'error':
        return this.#retries(params)
      case 'turn/completed':
        return this.#turnCompleted(params['turn'] as CodexTurn)
    }
  }

  /** It tries again for as long as it takes, so a person should know why nothing happens. */
  async #retries({ error, willRetry }: Params): Promise<void> {
    const { message } = error as { message: string }
    if (!willRetry || this.#hasToldRetry) return
    this.#hasToldRetry = true
    await this.#turn.report({ type: 'error', code: 'agent_retries', message, fatal: false })
  }

  #delta(type: 'text_delta' | 'thinking_delta', params: Params): void {
    this.#context.live({ type, blockId: params['itemId'] as string, text: params['delta'] as string })
  }

  async #itemStarted(item: ThreadItem): Promise<void> {
    this.#items.set(item.id, item)
    const event = startOf(item)
    if (event) await this.#turn.report(event)
  }

  async #itemCompleted(item: ThreadItem): Promise<void> {
    if (item.type === 'plan') this.#items.set(item.id, item)
    else this.#items.delete(item.id)
    await this.#turn.report(...endOf(item))
  }

  /** Its list of things to do, as it stands: each state of it is a call of its own. */
  async #planUpdated({ plan, explanation }: Params): Promise<void> {
    const toolCallId = this.#options.newId()
    const input = { plan: plan as Json, ...(typeof explanation === 'string' && { explanation }) }
    await this.#turn.report(
      { type: 'tool_call', toolCallId, toolName: 'update_plan', input, source: 'agent' },
      { type: 'tool_result', toolCallId, output: '', isError: false },
    )
  }

  async #turnCompleted({ id, status, error }: CodexTurn): Promise<void> {
    if (this.#codexTurn !== null && id !== this.#codexTurn) return
    this.#codexTurn = null
    const plan = [...this.#items.values()].find((item) => item.type === 'plan')
    this.#items.clear()
    if (status === 'failed') {
      const why = [error?.message, error?.additionalDetails].filter(Boolean).join(' ') || 'Codex failed.'
      return this.#endTurn('error', { type: 'error', code: 'agent_error', message: why, fatal: false })
    }
    if (status === 'interrupted' || this.#interrupted) return this.#endTurn('interrupted')
    if (plan?.type === 'plan' && this.#isPlanning) {
      this.#review(plan).catch((failed: unknown) => this.#fail(failed))
      return
    }
    await this.#endTurn('done')
  }

  /** A plan stands at the end of the program's turn; the session's turn goes on with what the person makes of it. */
  async #review({ id: toolCallId, text: plan }: { id: string; text: string }): Promise<void> {
    const { session } = this.#context
    const signal = this.#signal()
    const reviewed = await session
      .reviewPlan({ plan, toolCallId, toolName: PLAN, attach: true, signal, ...this.#timeout() })
      .catch((error: unknown) => {
        if (signal.aborted) return null
        throw error
      })
    if (!reviewed) return
    const { told, isError, next, isFresh } = reviewOf(reviewed, plan)
    await this.#turn.report({ type: 'tool_result', toolCallId, output: told, isError })
    if (next === null) return this.#endTurn('done')
    this.#mode = (await session.snapshot()).session.permissionMode
    if (isFresh) await this.#openThread(null)
    await this.#say(next)
  }

  async #endTurn(reason: 'done' | 'error' | 'interrupted', ...events: Reported[]): Promise<void> {
    const interrupted = this.#interrupted
    this.#interrupted = null
    this.#hasToldRetry = false
    this.#grants.clear()
    await this.#turn.end(reason, ...events)
    interrupted?.()
  }

  #asked(method: string, params: Params): Promise<unknown> {
    return answerRequest(method, params, {
      session: this.#context.session,
      cwd: this.#context.cwd,
      clock: this.#options.clock,
      grants: this.#grants,
      ...this.#timeout(),
      signal: () => this.#signal(),
      announce: (call) => this.#turn.report({ type: 'tool_call', source: 'agent', ...call }),
      end: (toolCallId, output, isError) =>
        this.#turn.report({ type: 'tool_result', toolCallId, output, isError }),
      changesOf: (itemId) => this.#changesOf(itemId),
      callTo: (server) => this.#callTo(server),
      tell: (text) => this.#tell(text),
      agentOf: (threadId) => (threadId === this.#threadId ? undefined : threadId),
    }).catch((error: unknown) => {
      // Its process is being ended: any answer would make it talk to its model once more.
      if (this.#stop.signal.aborted) return new Promise(() => {})
      throw error
    })
  }

  #timeout(): { timeoutMs?: number | null } {
    const { timeoutMs } = this.#options
    return timeoutMs === undefined ? {} : { timeoutMs }
  }

  #signal(): AbortSignal {
    return AbortSignal.any([this.#stop.signal, this.#interrupt.signal])
  }

  /** A refusal has no room for words, so they go along as a message of the same turn. */
  async #tell(text: string): Promise<void> {
    const expectedTurnId = this.#codexTurn
    if (expectedTurnId === null || this.#interrupt.signal.aborted) return
    const input = [{ type: 'text', text, text_elements: [] }]
    await this.#peer
      .request('turn/steer', { threadId: this.#threadId, input, expectedTurnId })
      .catch(() => {})
  }

  #changesOf(itemId: string): FileChange[] {
    const item = this.#items.get(itemId)
    return item?.type === 'fileChange' ? item.changes : []
  }

  #callTo(server: string): { toolCallId: string; toolName: string; input: Json } | null {
    const open = [...this.#items.values()].findLast(
      (item) => item.type === 'mcpToolCall' && item.server === server,
    )
    return open ? startOf(open) : null
  }

  /** A turn that was cut: waits for what is pending in it, then tells the model what came of it. */
  async #takeUp(resume: NonNullable<AgentContext['resume']>): Promise<void> {
    const signal = this.#signal()
    const outcomes = await outcomesOf(this.#context, resume, signal).catch((error: unknown) => {
      if (signal.aborted) return []
      throw error
    })
    if (outcomes.length === 0 || signal.aborted) return
    await this.#tellOutcomes(outcomes)
  }

  async #tellOutcomes(outcomes: Outcome[]): Promise<void> {
    this.#mode = (await this.#context.session.snapshot()).session.permissionMode
    const fresh = outcomes.find(({ plan }) => plan !== undefined)?.plan
    if (fresh !== undefined) await this.#openThread(null)
    for (const { granted, interaction } of outcomes) if (granted) this.#grants.add(interaction)
    await this.#say(fresh === undefined ? resumeMessage(outcomes) : planMessage(fresh))
    for (const { granted, interaction, told, isError } of outcomes) {
      const { toolCallId } = interaction
      const result = { type: 'tool_result', toolCallId, output: told, isError } as const
      if (granted) this.#turn.atEnd(result)
      else await this.#turn.report(result)
    }
  }

  async #gone(): Promise<void> {
    await this.#peer.settled
    const why = this.#child.complaint
    const message = why === '' ? 'Codex ended.' : `Codex ended: ${why}`
    this.#peer.close(message)
    if (this.#stop.signal.aborted) return
    if (this.#interrupted) await this.#endTurn('interrupted')
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
