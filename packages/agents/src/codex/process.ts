import { AGENT_LOST, type AgentContext, type AgentProcess, type Reported } from '@askback/core'
import type { PermissionMode } from '@askback/protocol'
import type { Running } from '../program/child.js'
import type { Channel, Params } from '../program/peer.js'
import { pause } from '../session/asking.js'
import { PeerAgent, type TurnReason } from '../session/peer-agent.js'
import { reviewOf } from '../session/plan.js'
import type { ThreadOpened, Turn as CodexTurn } from './app-server.js'
import { PLAN } from './items.js'
import type { CodexOptions } from './options.js'
import { answerRequest, type RequestPorts } from './requests.js'
import { resumeThread, startThread, whoDecides } from './thread.js'
import { ThreadLog } from './thread-log.js'
import { trouble } from './trouble.js'

const INTERRUPT_MS = 5000
/** Within this a program that ended a turn has written that down. */
const WRITTEN_MS = 500

/** A session's Codex: one `codex app-server`, and the thread in it that is the session's. */
export class CodexProcess extends PeerAgent implements AgentProcess {
  hasSaidHello = false
  readonly #options: CodexOptions
  readonly #log: ThreadLog
  #thread: ThreadOpened | null = null
  #mode: PermissionMode
  #toldMode: 'plan' | 'default' = 'default'
  #codexTurn: string | null = null
  #starting: Promise<unknown> = Promise.resolve()
  #joined: Promise<unknown> = Promise.resolve()
  #interrupted: (() => void) | null = null
  #isPaused = false

  constructor(context: AgentContext, program: Running, channel: Channel, options: CodexOptions) {
    super(context, program, { name: 'Codex', channel })
    this.#options = options
    this.#mode = context.permissionMode
    this.#log = new ThreadLog(context, this.turn, options.newId)
  }

  /** Says hello, and opens the thread. */
  async open(signal: AbortSignal): Promise<void> {
    const { resume, agentSessionId } = this.context
    await this.start(async () => {
      await this.#hello()
      if (resume) this.turn.begin(resume.turnId)
      await this.#openThread(agentSessionId)
    }, signal)
  }

  /** Goes on with a thread that runs, in the turn that it runs for. Otherwise it is ended, and `false`. */
  async rejoin(): Promise<boolean> {
    const joining = this.#rejoin()
    // What it tells and asks meanwhile comes after what it has done before.
    this.#joined = Promise.race([joining.catch(() => false), this.program.gone])
    const isJoined = await joining.catch(() => false)
    if (!isJoined) await this.stop()
    return isJoined
  }

  async send({ text, turnId }: { text: string; turnId: string }): Promise<void> {
    this.turn.begin(turnId)
    await this.#starting
    await this.#say(text)
  }

  async interrupt(): Promise<void> {
    if (!this.turn.isOpen) return
    this.interrupting.abort()
    await this.#starting.catch(() => {})
    const turnId = this.#codexTurn
    if (turnId === null) return this.endTurn('interrupted')
    const over = new Promise<void>((resolve) => {
      this.#interrupted = resolve
    })
    const timeout = new AbortController()
    const late = pause(this.#options.clock, INTERRUPT_MS, timeout.signal)
    const asked = this.peer.request('turn/interrupt', { threadId: this.#threadId, turnId })
    await Promise.race([asked.then(() => over).catch(() => {}), late])
    timeout.abort()
    if (!this.turn.isOpen) return
    await this.program.kill()
    await Promise.race([over, this.ended])
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
    await this.peer.request(method, { threadId: this.#threadId }).catch(() => {})
  }

  async #hello(): Promise<void> {
    await this.peer.request('initialize', {
      clientInfo: { name: 'askback', title: 'Askback', version: '0.1.0' },
      capabilities: { experimentalApi: true, requestAttestation: false },
    })
    this.hasSaidHello = true
    this.peer.notify('initialized')
  }

  async #rejoin(): Promise<boolean> {
    const { resume, agentSessionId } = this.context
    if (!resume || agentSessionId === null) return false
    await this.#hello()
    const look = () => resumeThread(this.peer, agentSessionId, this.context)
    let thread = await look()
    // A turn that has just ended counts as interrupted until the program has written down that it is done.
    if (thread?.thread.turns?.at(-1)?.status === 'interrupted') {
      await pause(this.#options.clock, WRITTEN_MS, this.signal)
      thread = await look()
    }
    const last = thread?.thread.turns?.at(-1)
    const isOurs = last?.items?.some((item) => item.type === 'userMessage' && item.clientId === resume.turnId)
    if (!thread || !last || !isOurs) return false
    this.#thread = thread
    this.#toldMode = thread.collaborationMode?.mode === 'plan' ? 'plan' : 'default'
    this.#isPaused = resume.state.status === 'waiting'
    this.#codexTurn = last.id
    this.turn.begin(resume.turnId)
    this.#log.take(resume.state.toolCalls)
    for (const item of last.items ?? []) {
      if (item.status === 'inProgress') await this.#log.started(item)
      else await this.#log.completed(item)
    }
    if (last.status !== 'inProgress') await this.#turnCompleted(last)
    return true
  }

  get #threadId(): string {
    return this.#thread?.thread.id ?? ''
  }

  get #isPlanning(): boolean {
    return this.#mode === 'plan'
  }

  async #openThread(threadId: string | null): Promise<void> {
    const resumed = threadId === null ? null : await resumeThread(this.peer, threadId, this.context)
    this.#thread = resumed ?? (await startThread(this.peer, this.context))
    this.#toldMode = 'default'
    if (threadId !== null && !resumed) {
      const message = 'Codex has lost the earlier conversation, and starts a new one.'
      await this.turn.report({ type: 'error', code: AGENT_LOST, message, fatal: false })
    }
    await this.turn.report({ type: 'agent_session', agentSessionId: this.#threadId })
    const message = whoDecides(this.#thread)
    if (message !== null)
      await this.turn.report({ type: 'error', code: 'agent_decides', message, fatal: false })
  }

  /** Starts a turn of the program's, or adds to the one that runs. */
  #say(text: string): Promise<void> {
    const said = this.#starting.catch(() => {}).then(() => this.#startOrSteer(text))
    this.#starting = said
    return said
  }

  async #startOrSteer(text: string): Promise<void> {
    if (this.#codexTurn !== null && (await this.#steer(text, this.#codexTurn))) return
    this.interrupting = new AbortController()
    const mode = this.#isPlanning ? 'plan' : 'default'
    const settings = { model: this.#thread?.model, reasoning_effort: null, developer_instructions: null }
    const collaborationMode = mode === this.#toldMode ? {} : { collaborationMode: { mode, settings } }
    const started = await this.peer.request<{ turn: CodexTurn }>('turn/start', {
      threadId: this.#threadId,
      input: inputOf(text),
      // By this a turn is found again that goes on without a gateway.
      clientUserMessageId: this.turn.id,
      ...collaborationMode,
    })
    this.#toldMode = mode
    this.#codexTurn = started.turn.id
  }

  /** Whether the turn that runs has taken it. */
  async #steer(text: string, expectedTurnId: string): Promise<boolean> {
    return this.peer
      .request('turn/steer', { threadId: this.#threadId, input: inputOf(text), expectedTurnId })
      .then(
        () => true,
        () => false,
      )
  }

  protected async goOn(message: string, isFresh: boolean): Promise<void> {
    this.#mode = (await this.context.session.snapshot()).session.permissionMode
    if (isFresh) await this.#openThread(null)
    await this.#say(message)
  }

  protected async heard(method: string, params: Params): Promise<void> {
    await this.#joined
    if (this.#thread && params['threadId'] !== this.#threadId) return
    if (method === 'turn/completed') await this.#turnCompleted(params['turn'] as CodexTurn)
    else await this.#log.heard(method, params)
  }

  async #turnCompleted({ id, status, error }: CodexTurn): Promise<void> {
    if (this.#codexTurn !== null && id !== this.#codexTurn) return
    this.#codexTurn = null
    const plan = this.#log.end()
    if (status === 'failed')
      return this.endTurn(
        'error',
        trouble([error?.message, error?.additionalDetails].filter(Boolean).join(' ')),
      )
    if (status === 'interrupted' || this.#interrupted) return this.endTurn('interrupted')
    if (!plan || !this.#isPlanning) return this.endTurn('done')
    this.#review(plan).catch((failed: unknown) => this.fail(failed))
  }

  /** A plan stands at the end of the program's turn; the session's turn goes on with what the person makes of it. */
  async #review({ id: toolCallId, text: plan }: { id: string; text: string }): Promise<void> {
    const { signal } = this
    const reviewed = await this.context.session
      .reviewPlan({ plan, toolCallId, toolName: PLAN, attach: true, signal, ...this.#timeout() })
      .catch((error: unknown) => {
        if (signal.aborted) return null
        throw error
      })
    if (!reviewed) return
    const { told, isError, next, isFresh } = reviewOf(reviewed, plan)
    await this.turn.report({ type: 'tool_result', toolCallId, output: told, isError })
    if (next === null) await this.endTurn('done')
    else await this.goOn(next, isFresh)
  }

  protected async endTurn(reason: TurnReason, ...events: Reported[]): Promise<void> {
    const interrupted = this.#interrupted
    this.#interrupted = null
    this.grants.clear()
    await this.turn.end(reason, ...events)
    interrupted?.()
  }

  protected async lost(): Promise<void> {
    if (this.#interrupted) await this.endTurn('interrupted')
  }

  protected async asked(method: string, params: Params): Promise<unknown> {
    await this.#joined
    return answerRequest(method, params, this.#ports())
  }

  #ports(): RequestPorts {
    return {
      session: this.context.session,
      editScope: this.editScope,
      clock: this.#options.clock,
      grants: this.grants,
      ...this.#timeout(),
      signal: () => this.signal,
      announce: (call) => this.turn.report({ type: 'tool_call', source: 'agent', ...call }),
      end: (toolCallId, output, isError) =>
        this.turn.report({ type: 'tool_result', toolCallId, output, isError }),
      changesOf: (itemId) => this.#log.changesOf(itemId),
      callTo: (server) => this.#log.callTo(server),
      hasAsked: (toolCallId) =>
        this.context.resume?.state.pending.some((item) => item.toolCallId === toolCallId) ?? false,
      tell: (text) => this.#tell(text),
      agentOf: (threadId) => (threadId === this.#threadId ? undefined : threadId),
    }
  }

  #timeout(): { timeoutMs?: number | null } {
    const { timeoutMs } = this.#options
    return timeoutMs === undefined ? {} : { timeoutMs }
  }

  /** A refusal has no room for words, so they go along as a message of the same turn. */
  async #tell(text: string): Promise<void> {
    if (this.#codexTurn !== null && !this.interrupting.signal.aborted)
      await this.#steer(text, this.#codexTurn)
  }
}

function inputOf(text: string): object[] {
  return [{ type: 'text', text, text_elements: [] }]
}
