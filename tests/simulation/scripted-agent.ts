import type { AgentAdapter, AgentContext, AgentProcess, AgentEnd, Settlement } from '@askback/core'
import { AskbackError, digestOf, type SessionStateJson } from '@askback/protocol'
import type { Process } from './process.js'
import { checkSettlement } from './interaction-rules.js'
import { holds } from './violation.js'
import type { World } from './world.js'

const INPUT = { command: 'ls' }
const CALLS = 3
const TIMEOUT_MS = 30_000

/**
 * An agent that the host of a process runs. In each turn it makes some tool calls, asks for an approval before each, and reports
 * the result. When it resumes a turn, it continues at the call where the log ends, and does not run a call that may already have
 * run.
 */
export function scriptedAgent(world: World, process: Process): AgentAdapter {
  return {
    id: 'scripted',
    name: 'Scripted',
    check: () => Promise.resolve({ available: true }),
    start: (context) => Promise.resolve(new ScriptedAgent(world, process, context)),
  }
}

export class ScriptedAgent implements AgentProcess {
  readonly ended: Promise<AgentEnd>
  readonly #world: World
  readonly #process: Process
  readonly #context: AgentContext
  readonly #begun = new Set<string>()
  #end: (ending: AgentEnd) => void = () => {}
  #turn: { turnId: string; abort: AbortController; over: Promise<void> } | null = null

  constructor(world: World, process: Process, context: AgentContext) {
    this.#world = world
    this.#process = process
    this.#context = context
    this.ended = new Promise((resolve) => (this.#end = resolve))
    process.agents.add(this)
    world.note(`${process.name} starts the agent of ${context.sessionId}`)
    void this.ended.then(({ how }) => {
      process.agents.delete(this)
      world.note(`the agent of ${context.sessionId} in ${process.name} is ${how}`)
    })
    if (context.resume) this.#begin(context.resume.turnId, context.resume.state)
  }

  get sessionId(): string {
    return this.#context.sessionId
  }

  /** A message within an active turn has no further effect. */
  send({ text, turnId }: { text: string; turnId: string }): Promise<void> {
    this.#world.runs.given.add(text)
    if (!this.#begun.has(turnId)) this.#begin(turnId)
    return Promise.resolve()
  }

  async interrupt(): Promise<void> {
    const turn = this.#turn
    if (!turn) return
    turn.abort.abort()
    const { turnId } = turn
    // If another process took over the session, this report gets no reply, so do not wait for it alone.
    const interrupted = this.#context.report({ type: 'turn_ended', turnId, reason: 'interrupted' })
    await Promise.race([interrupted, this.ended])
  }

  setPermissionMode(): Promise<void> {
    return Promise.resolve()
  }

  stop(): Promise<void> {
    this.#turn?.abort.abort()
    this.#end({ how: 'stopped' })
    return Promise.resolve()
  }

  /** The agent's process crashes. */
  lose(): void {
    this.#turn?.abort.abort()
    this.#end({ how: 'lost', message: 'The simulated agent crashed.' })
  }

  #begin(turnId: string, state?: SessionStateJson): void {
    this.#begun.add(turnId)
    const abort = new AbortController()
    const before = this.#turn?.over ?? Promise.resolve()
    const over = before
      .then(() => this.#run(turnId, abort.signal, state))
      .catch((error: unknown) => {
        if (abort.signal.aborted || !this.#process.alive) return
        // An agent crashes if it cannot write, or if its session was deleted or taken over.
        if (error instanceof AskbackError && error.code !== 'internal') this.lose()
        else this.#world.broke(error)
      })
    this.#turn = { turnId, abort, over }
  }

  async #run(turnId: string, signal: AbortSignal, state?: SessionStateJson): Promise<void> {
    const { session, sessionId } = this.#context
    const report: AgentContext['report'] = (...events) => this.#context.report(...events)
    const { model } = this.#world
    for (let index = 1; index <= CALLS; index++) {
      const toolCallId = `${turnId}-call${index}`
      const known = state?.toolCalls.find((call) => call.toolCallId === toolCallId)
      if (known?.result) continue
      if (signal.aborted) return
      if (!known) await report({ type: 'tool_call', toolCallId, toolName: 'Bash', input: INPUT, turnId })
      if (signal.aborted) return
      const agentId = `${sessionId} ${toolCallId}`
      const sent = { what: 'open', attach: true, owns: true, keyed: false, edit: 'none' } as const
      model.sent.set(agentId, { id: agentId, sessionId, digest: digestOf('Bash', INPUT), ...sent })
      const asked = { input: INPUT, toolName: 'Bash', toolCallId, turnId, agentId } as const
      const settled = await session.approve({ ...asked, attach: true, timeoutMs: TIMEOUT_MS, signal })
      if (!this.#process.alive) return
      checkSettlement(model, null, settled as Settlement)
      // An aborted turn starts no call, even if it already has the approval.
      if (signal.aborted) return
      const mayRun = settled.settlement === 'approved' && !settled.inDoubt
      if (mayRun) this.#world.runs.add(toolCallId)
      await report({
        type: 'tool_result',
        toolCallId,
        output: mayRun ? 'ok' : 'no',
        isError: !mayRun,
        turnId,
      })
    }
    if (!signal.aborted) await report({ type: 'turn_ended', turnId, reason: 'done' })
    if (this.#turn?.turnId === turnId) this.#turn = null
  }
}

/** Checks that each approved call runs at most once, across all processes that ran the agent. */
export class Runs {
  readonly #ran = new Set<string>()
  /** The texts of the messages that an agent was given. */
  readonly given = new Set<string>()

  add(toolCallId: string): void {
    holds(!this.#ran.has(toolCallId), 'L10', () => `the call ${toolCallId} ran twice`)
    this.#ran.add(toolCallId)
  }
}
