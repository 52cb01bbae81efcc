import { AGENT_LOST, type AgentContext, type AgentProcess, type Ending } from '@askback/core'
import type { PermissionMode } from '@askback/protocol'
import type { AgentChild } from '../program/child.js'
import { eachLine, messageIn } from '../program/lines.js'
import { resumeMessage } from '../session/outcome.js'
import { outcomesOf } from '../session/take-up.js'
import { Turn } from '../session/turn.js'
import { execCall, execResult, type ExecItem } from './exec-items.js'
import { ExecIds } from './exec-ids.js'
import { trouble } from './trouble.js'

export interface ExecOptions {
  codexHome: string
  newId: () => string
  start: (args: string[]) => Promise<AgentChild>
}

interface ExecEvent {
  type: string
  thread_id?: string
  item?: ExecItem
  error?: { message: string }
  message?: string
  usage?: { input_tokens: number; output_tokens: number }
}

const FORGOTTEN = 'no rollout found'
const RETRIES = /^Reconnecting/

/** A session's Codex by its plain command: one process for each message, which asks nobody. */
export class ExecProcess implements AgentProcess {
  readonly ended: Promise<Ending>
  readonly #context: AgentContext
  readonly #options: ExecOptions
  readonly #turn: Turn
  readonly #ids: ExecIds
  readonly #mail: string[] = []
  readonly #calls = new Map<string, string>()
  readonly #stop = new AbortController()
  #threadId: string | null
  #mode: PermissionMode
  #child: AgentChild | null = null
  #handled: Promise<void> = Promise.resolve()
  #interrupts = 0
  #isInterrupting = false
  #isOver = false
  #hasToldRetry = false
  #hasNoted: boolean
  #end: (ending: Ending) => void = () => {}

  constructor(context: AgentContext, options: ExecOptions) {
    this.#context = context
    this.#options = options
    this.#threadId = context.agentSessionId
    // A session that has a thread was told when that began.
    this.#hasNoted = context.agentSessionId !== null
    this.#mode = context.permissionMode
    this.#turn = new Turn(context)
    this.#ids = new ExecIds(options.codexHome, context.sessionId)
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
    if (context.resume) this.#takeUp(context.resume).catch((error: unknown) => this.#fail(error))
  }

  async send({ text, turnId }: { text: string; turnId: string }): Promise<void> {
    this.#turn.begin(turnId)
    this.#mail.push(text)
    if (this.#child === null && !this.#isInterrupting) await this.#run()
  }

  async interrupt(): Promise<void> {
    if (!this.#turn.isOpen) return
    this.#isInterrupting = true
    // What the program that runs now still says, and that it ends, concerns nobody any more.
    this.#interrupts++
    this.#mail.length = 0
    try {
      await this.#child?.kill()
      await this.#handled
      this.#child = null
      await this.#turn.end('interrupted')
    } finally {
      this.#isInterrupting = false
    }
  }

  async setPermissionMode(mode: PermissionMode): Promise<void> {
    this.#mode = mode
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#child?.kill()
    this.#end({ how: 'stopped' })
  }

  async #run(): Promise<void> {
    const [text = ''] = this.#mail.splice(0, 1)
    const resume = this.#threadId === null ? [] : ['resume', this.#threadId]
    const interrupts = this.#interrupts
    const isCurrent = () => interrupts === this.#interrupts
    this.#isOver = false
    this.#hasToldRetry = false
    this.#calls.clear()
    const child = await this.#options.start([
      ...sandboxOf(this.#mode),
      ...(this.#context.model === null ? [] : ['--model', this.#context.model]),
      ...resume,
      '--',
      text,
    ])
    if (!isCurrent()) return child.kill()
    this.#child = child
    const { stdout } = child.process
    eachLine(stdout, (line) => {
      const event = messageIn<ExecEvent>(line)
      if (!event || !isCurrent()) return
      this.#handled = this.#handled
        .then(() => this.#heard(event))
        .catch((error: unknown) => this.#fail(error))
    })
    child.outputRead
      .then(async () => {
        await this.#handled
        if (!isCurrent()) return
        this.#child = null
        await this.#gone(child, text)
      })
      .catch((error: unknown) => this.#fail(error))
  }

  async #heard({ type, thread_id, item, error, usage, message = '' }: ExecEvent): Promise<void> {
    if (this.#stop.signal.aborted) return
    switch (type) {
      case 'thread.started':
        this.#threadId = thread_id ?? null
        if (thread_id !== undefined)
          await this.#turn.report({ type: 'agent_session', agentSessionId: thread_id })
        return this.#noteWhoDecides()
      case 'item.started':
        if (item) await this.#started(item)
        return
      case 'item.completed':
        if (item) await this.#completed(item)
        return
      case 'turn.completed':
        this.#isOver = true
        if (usage) this.#turn.count({ inputTokens: usage.input_tokens, outputTokens: usage.output_tokens })
        return
      case 'turn.failed':
        this.#isOver = true
        return this.#turn.end('error', trouble(error?.message))
      case 'error':
        // Any other comes again as the end of the turn.
        if (RETRIES.test(message)) await this.#retries(message)
        return
    }
  }

  /** It tries again for as long as it takes, so a person should know why nothing happens. */
  async #retries(message: string): Promise<void> {
    if (this.#hasToldRetry) return
    this.#hasToldRetry = true
    await this.#turn.report({ type: 'error', code: 'agent_retries', message, fatal: false })
  }

  async #started(item: ExecItem): Promise<string | null> {
    const call = execCall(item)
    if (!call) return null
    const known = this.#calls.get(item.id)
    if (known !== undefined) return known
    const id = this.#threadId === null ? null : await this.#ids.find(this.#threadId, item)
    const toolCallId = id ?? this.#options.newId()
    this.#calls.set(item.id, toolCallId)
    await this.#turn.report({ type: 'tool_call', toolCallId, source: 'agent', ...call })
    return toolCallId
  }

  async #noteWhoDecides(): Promise<void> {
    if (this.#hasNoted) return
    this.#hasNoted = true
    const limit =
      this.#mode === 'bypassPermissions' ? 'Nothing limits it in this mode.' : 'Only its sandbox limits it.'
    const message = `Codex CLI decides by itself: it asks nobody before it runs commands or edits files. ${limit}`
    await this.#turn.report({ type: 'error', code: 'agent_decides', message, fatal: false })
  }

  async #completed(item: ExecItem): Promise<void> {
    if (item.type === 'agent_message' || item.type === 'reasoning') {
      const type = item.type === 'reasoning' ? 'thinking' : 'text'
      if (item.text !== '') await this.#turn.report({ type, blockId: this.#options.newId(), text: item.text })
      return
    }
    const toolCallId = await this.#started(item)
    if (toolCallId !== null) await this.#turn.report(execResult(item, toolCallId))
  }

  async #gone({ complaint, ending }: AgentChild, text: string): Promise<void> {
    if (this.#stop.signal.aborted) return
    if (complaint.includes(FORGOTTEN)) {
      const message = 'Codex has lost the earlier conversation, and starts a new one.'
      await this.#turn.report({ type: 'error', code: AGENT_LOST, message, fatal: false })
      this.#threadId = null
      this.#mail.unshift(text)
      return this.#run()
    }
    if (!this.#isOver) return this.#end({ how: 'lost', message: `Codex${ending}` })
    if (this.#mail.length > 0) return this.#run()
    await this.#turn.end('done')
  }

  /** A command that asked was cut with the program: the answer is for the model, in words. */
  async #takeUp(resume: NonNullable<AgentContext['resume']>): Promise<void> {
    this.#turn.begin(resume.turnId)
    const outcomes = await outcomesOf(this.#context, resume, this.#stop.signal)
    if (outcomes.length === 0) return
    for (const { interaction, told, isError } of outcomes)
      await this.#turn.report({
        type: 'tool_result',
        toolCallId: interaction.toolCallId,
        output: told,
        isError,
      })
    this.#mail.push(resumeMessage(outcomes))
    if (this.#child === null) await this.#run()
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#stop.signal.aborted) return
    const message = error instanceof Error ? error.message : String(error)
    await this.#child?.kill()
    this.#end({ how: 'lost', message })
  }
}

/** It asks nobody, so the sandbox is all that holds it: only who has given up asking gives up that as well. */
function sandboxOf(mode: PermissionMode): string[] {
  switch (mode) {
    case 'plan':
      return ['--sandbox', 'read-only']
    case 'bypassPermissions':
      return ['--sandbox', 'danger-full-access']
    case 'default':
    case 'acceptEdits':
      return ['--sandbox', 'workspace-write']
  }
}
