import type { AgentContext, AgentProcess, Clock } from '@askback/core'
import { AGENT_DECIDES, errorMessage, type PermissionMode } from '@askback/protocol'
import type { ChildProgram } from '../program/child-program.js'
import { parseObject, readLines } from '../program/ndjson.js'
import { BaseAgentProcess, type ContinueOptions } from '../session/base-agent-process.js'
import { withConversationRecord } from '../session/conversation-record.js'
import { TurnLog } from '../session/turn-log.js'
import { execItemCall, execItemResult, failureEvent, type ExecItem } from './events.js'
import { ExecCallIds } from './exec-call-ids.js'

export interface ExecProcessOptions {
  codexHome: string
  clock: Clock
  newId: () => string
  /** Starts `codex exec` with these arguments. */
  start: (args: string[]) => Promise<ChildProgram>
}

/** A line that `codex exec --json` prints. */
interface ExecEvent {
  type: string
  thread_id?: string
  item?: ExecItem
  error?: { message: string }
  message?: string
  usage?: { input_tokens: number; output_tokens: number }
}

/** What Codex prints when it is to resume a thread that it has no record of. */
const UNKNOWN_THREAD = 'no rollout found'
const RETRY_MESSAGE = /^Reconnecting/

/** A session's Codex through `codex exec`: one program for each message. It asks nobody for approval. */
export class ExecProcess extends BaseAgentProcess implements AgentProcess {
  readonly #options: ExecProcessOptions
  readonly #callIds: ExecCallIds
  readonly #messages: string[] = []
  /** Ids of tool calls in the log by the ids of Codex's items. */
  readonly #toolCallIds = new Map<string, string>()
  #threadId: string | null
  #mode: PermissionMode
  #child: ChildProgram | null = null
  #eventsHandled: Promise<void> = Promise.resolve()
  /** Programs that were started before the last interrupt are ignored. */
  #interrupts = 0
  #isInterrupting = false
  #isCodexTurnOver = false
  #hasNotedWhoDecides: boolean

  constructor(context: AgentContext, options: ExecProcessOptions) {
    super(context, { turnLog: new TurnLog(context, options.newId), clock: options.clock })
    this.#options = options
    this.#threadId = context.agentSessionId
    // A session that has a thread already got the notice when the thread began.
    this.#hasNotedWhoDecides = context.agentSessionId !== null
    this.#mode = context.permissionMode
    this.#callIds = new ExecCallIds(options.codexHome, context.sessionId)
    this.resumeTurn()
  }

  async send({ text, turnId }: { text: string; turnId: string }): Promise<void> {
    this.turnLog.begin(turnId)
    this.#messages.push(text)
    if (this.#child === null && !this.#isInterrupting) await this.#runNextMessage()
  }

  async interrupt(): Promise<void> {
    if (!this.turnLog.isOpen) return
    this.cancelResume()
    this.#isInterrupting = true
    this.#interrupts++
    this.#messages.length = 0
    try {
      await this.#child?.kill()
      await this.#eventsHandled
      this.#child = null
      await this.endTurn('interrupted')
    } finally {
      this.#isInterrupting = false
    }
  }

  async setPermissionMode(mode: PermissionMode): Promise<void> {
    this.#mode = mode
  }

  protected override async killProgram(): Promise<void> {
    await this.#child?.kill()
  }

  /** Leaves the turn open: the runner ends it, or resumes it if a script's request is pending. */
  protected override async fail(error: unknown): Promise<void> {
    if (this.isStopped) return
    await this.killProgram()
    this.setEnded({ how: 'lost', message: errorMessage(error) })
  }

  protected override async continueTurn(message: string, { results }: ContinueOptions): Promise<void> {
    this.#messages.push(message)
    if (this.#child === null) await this.#runNextMessage()
    await this.turnLog.report(...results)
  }

  async #runNextMessage(): Promise<void> {
    const [text = ''] = this.#messages.splice(0, 1)
    const resume = this.#threadId === null ? [] : ['resume', this.#threadId]
    const interrupts = this.#interrupts
    const isCurrent = () => interrupts === this.#interrupts
    this.#isCodexTurnOver = false
    this.turnLog.programTurnStarts()
    this.#toolCallIds.clear()
    const child = await this.#options.start([
      ...sandboxArgs(this.#mode),
      ...(this.context.model === null ? [] : ['--model', this.context.model]),
      ...resume,
      '--',
      text,
    ])
    if (!isCurrent()) return child.kill()
    this.#child = child
    readLines(child.process.stdout, (line) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Codex is trusted to print its events; unknown types are ignored
      const event = parseObject(line) as ExecEvent | null
      if (!event || !isCurrent()) return
      this.#eventsHandled = this.#eventsHandled
        .then(() => this.#handle(event))
        .catch((error: unknown) => this.fail(error))
    })
    child.outputRead
      .then(async () => {
        await this.#eventsHandled
        if (!isCurrent()) return
        this.#child = null
        await this.#programEnded(child, text)
      })
      .catch((error: unknown) => this.fail(error))
  }

  async #handle({ type, thread_id: threadId, item, error, usage, message = '' }: ExecEvent): Promise<void> {
    if (this.isStopped) return
    switch (type) {
      case 'thread.started':
        this.#threadId = threadId ?? null
        if (threadId !== undefined)
          await this.turnLog.report({ type: 'agent_session', agentSessionId: threadId })
        return this.#noteWhoDecides()
      case 'item.started':
        if (item) await this.#logCall(item)
        return
      case 'item.completed':
        if (item) await this.#itemCompleted(item)
        return
      case 'turn.completed':
        this.#isCodexTurnOver = true
        if (usage)
          this.turnLog.addUsage({ inputTokens: usage.input_tokens, outputTokens: usage.output_tokens })
        return
      case 'turn.failed':
        this.#isCodexTurnOver = true
        return this.endTurn('error', failureEvent(error?.message))
      case 'error':
        // All other errors come again as `turn.failed`.
        if (RETRY_MESSAGE.test(message)) await this.turnLog.reportRetry(message)
        return
    }
  }

  /** Returns the id of the item's tool call in the log; `null` if the item is no tool call. */
  async #logCall(item: ExecItem): Promise<string | null> {
    const call = execItemCall(item)
    if (!call) return null
    const logged = this.#toolCallIds.get(item.id)
    if (logged !== undefined) return logged
    const id = this.#threadId === null ? null : await this.#callIds.find(this.#threadId, item)
    const toolCallId = id ?? this.#options.newId()
    this.#toolCallIds.set(item.id, toolCallId)
    await this.turnLog.report({ type: 'tool_call', toolCallId, source: 'agent', ...call })
    return toolCallId
  }

  async #itemCompleted(item: ExecItem): Promise<void> {
    if (item.type === 'agent_message' || item.type === 'reasoning') {
      const type = item.type === 'reasoning' ? 'thinking' : 'text'
      if (item.text !== '')
        await this.turnLog.report({ type, blockId: this.#options.newId(), text: item.text })
      return
    }
    const toolCallId = await this.#logCall(item)
    if (toolCallId !== null) await this.turnLog.report(execItemResult(item, toolCallId))
  }

  async #noteWhoDecides(): Promise<void> {
    if (this.#hasNotedWhoDecides) return
    this.#hasNotedWhoDecides = true
    const limit =
      this.#mode === 'bypassPermissions' ? 'Nothing limits it in this mode.' : 'Only its sandbox limits it.'
    const message = `Codex CLI decides by itself: it asks nobody before it runs commands or edits files. ${limit}`
    await this.turnLog.reportNotice(AGENT_DECIDES, message)
  }

  async #programEnded({ stderr, endedHow }: ChildProgram, text: string): Promise<void> {
    if (this.isStopped) return
    if (stderr.includes(UNKNOWN_THREAD)) {
      await this.turnLog.reportLostConversation('Codex')
      this.#threadId = null
      this.#messages.unshift(await withConversationRecord(this.context.session, text))
      return this.#runNextMessage()
    }
    if (!this.#isCodexTurnOver) return this.setEnded({ how: 'lost', message: `Codex${endedHow}` })
    if (this.#messages.length > 0) return this.#runNextMessage()
    await this.endTurn('done')
  }
}

/** Codex asks nobody here, so only its sandbox limits it. It is off only in the mode in which nothing is asked anyway. */
function sandboxArgs(mode: PermissionMode): string[] {
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
