import type { AgentContext, Clock, Reported } from '@askback/core'
import { Calls } from './calls.js'
import { commandOutputIn, MessageReader } from './reader.js'
import type {
  AssistantMessage,
  CommandOutputMessage,
  InitMessage,
  KnownMessage,
  ResultMessage,
  StreamMessage,
  UserMessage,
} from './sdk.js'
import { TurnUsage } from './turn-usage.js'

/** What the agent does, as events of the turn that it does it in. */
export class TurnLog {
  readonly calls: Calls
  readonly #context: Pick<AgentContext, 'report' | 'live'>
  readonly #newId: () => string
  readonly #usage = new TurnUsage()
  #reader = new MessageReader()
  #turnId: string | null = null
  readonly #onceTaken = new Map<string, Reported[]>()
  #atEnd: Reported[] = []

  constructor(
    context: Pick<AgentContext, 'report' | 'live'>,
    { clock, newId }: { clock: Clock; newId: () => string },
  ) {
    this.#context = context
    this.#newId = newId
    this.calls = new Calls(clock, (event) => this.report(event))
  }

  get isOpen(): boolean {
    return this.#turnId !== null
  }

  /** A turn that nobody has begun yet. */
  async start(): Promise<void> {
    if (this.#turnId !== null) return
    this.#turnId = this.#newId()
    await this.#context.report({ type: 'turn_started', turnId: this.#turnId })
  }

  /** What a message says about the turn; `isCut` if the agent was interrupted meanwhile. */
  async record(message: Exclude<KnownMessage, ResultMessage>, isCut = false): Promise<void> {
    switch (message.type) {
      case 'stream_event':
        return this.#stream(message)
      case 'assistant':
        return this.#said(message, isCut)
      case 'user':
        return this.#heard(message)
      case 'conversation_reset':
        return this.#contextCleared()
      case 'system':
        if (message.subtype === 'init') return this.#init(message)
        if (message.subtype === 'local_command_output') return this.#commandOutput(message)
    }
  }

  /** The turn stands in the log already. */
  begin(turnId: string): void {
    this.#turnId = turnId
  }

  /** Another process of the agent's program. */
  newConversation(): void {
    this.#reader = new MessageReader()
    this.#usage.newProgram()
  }

  /** Not gone back to from here on, whether or not there will be another one. */
  async forgetConversation(): Promise<void> {
    await this.report({ type: 'context_cleared' })
  }

  /** `/clear`: the same process continues with an empty context, and counts its cost from zero. */
  async #contextCleared(): Promise<void> {
    this.#usage.newProgram()
    await this.forgetConversation()
  }

  async planMissing({ message }: { message: string }): Promise<void> {
    await this.report({ type: 'error', code: 'plan_missing', message, fatal: false })
  }

  /** Reported when the agent has taken up the message that tells of it: a crash before that leaves it to be told again. */
  onceTaken(messageId: string, events: Reported[]): void {
    this.#onceTaken.set(messageId, events)
  }

  async taken(messageId: string): Promise<void> {
    const events = this.#onceTaken.get(messageId) ?? []
    this.#onceTaken.delete(messageId)
    await this.report(...events)
  }

  /** Reported together with the end of the turn. */
  atEnd(event: Reported): void {
    this.#atEnd.push(event)
  }

  async #init({ session_id: agentSessionId }: InitMessage): Promise<void> {
    await this.report({ type: 'agent_session', agentSessionId })
  }

  async #stream(message: StreamMessage): Promise<void> {
    const isMain = message.parent_tool_use_id === null
    if (isMain && message.event.type === 'message_start') await this.report(...this.#reader.unfinished())
    const delta = this.#reader.delta(message)
    if (delta) this.#context.live(delta)
  }

  async #said(message: AssistantMessage, isCut: boolean): Promise<void> {
    // What the program says in the model's name about an error comes again as the result.
    if (message.error !== undefined) return
    // It may begin by itself, when something that it left in the background is done.
    await this.start()
    const events = this.#reader.blocks(message, isCut)
    await this.report(...events)
    this.calls.reported(events)
  }

  async #heard(message: UserMessage): Promise<void> {
    const output = commandOutputIn(message)
    if (output !== null) return this.#commandOutput(output)
    await this.report(...this.#reader.results(message).filter((event) => this.calls.end(event)))
  }

  /** What a slash command has printed is shown as the agent's text. */
  async #commandOutput({ uuid, content }: Pick<CommandOutputMessage, 'uuid' | 'content'>): Promise<void> {
    const text = content.trim()
    if (text !== '') await this.report({ type: 'text', blockId: uuid, text })
  }

  count(result: ResultMessage): void {
    this.#usage.count(result)
  }

  async end(reason: 'done' | 'error' | 'interrupted', ...events: Reported[]): Promise<void> {
    const turnId = this.#turnId
    const usage = this.#usage.take()
    const left = [...this.#reader.unfinished(), ...this.#atEnd]
    this.#turnId = null
    this.#atEnd = []
    this.#onceTaken.clear()
    if (turnId === null) return
    await this.#context.report(...[...left, ...events].map((event) => ({ ...event, turnId })), {
      type: 'turn_ended',
      turnId,
      reason,
      ...(usage && { usage }),
    })
  }

  async report(...events: Reported[]): Promise<void> {
    const turnId = this.#turnId
    if (events.length === 0) return
    await this.#context.report(...events.map((event) => (turnId === null ? event : { turnId, ...event })))
  }
}
