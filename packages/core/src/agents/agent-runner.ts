import type { PermissionMode, SessionEvent, SessionStateJson } from '@askback/protocol'
import { jumpAwareClock } from '../clock.js'
import type { ReportedEvent } from '../decide/command.js'
import { AGENT_LOST } from '../decide/report.js'
import type { AgentEnd } from './agent.js'
import { commandFrom, jsonOf, type AgentCommand } from './agent-command.js'
import { AgentProcesses, type AgentProcessesOptions } from './agent-processes.js'
import {
  AttendedSessions,
  type AttendedSession,
  type PriorRun,
  type TurnMessage,
} from './attended-sessions.js'
import { IdleAgents } from './idle-agents.js'
import { hasOpenTurn, hasUnusedSettlement, OpenTurns } from './open-turns.js'
import { StartAbandoned } from './running-agent.js'
import { ignoreIfOver, isFenced, isMissing, nullIfMissing, SessionWork } from './session-work.js'

/** The recorded result of an interrupt or a clear. */
interface StopResult {
  repeated: boolean
  /** The turn that was open when the command was first sent. */
  turnId?: string
}

interface AttendOptions {
  /** A message that no agent has received. */
  messageId?: string | undefined
  /** The text in the log if the agent was lost. */
  message?: string
  /** Needed where there are no leases, which would show it. */
  run?: PriorRun['run']
  /** Its lease belongs to a dead process, and is released if it is not needed. */
  isOrphan?: boolean
}

/**
 * Starts the agents of this process' sessions, sends them messages and ends them. What has to be done for a session is derived from
 * its log: `attend` compares the log with what runs, and may be called at any time. So a command is only a hint to look at the log,
 * and it does no harm if a command is lost or arrives twice. For every open turn there is a process that attends to it, or will:
 *
 * - the one that holds the lease of the session, and follows its log;
 * - the one that accepted a message, until it holds the lease or has put a command into the mailbox of the owner;
 * - if either has died, the process that takes over its leases, its mailbox and the open turns without a lease.
 */
export class AgentRunner {
  readonly #options: AgentProcessesOptions
  readonly #processes: AgentProcesses
  readonly #attended: AttendedSessions
  readonly #turns: OpenTurns
  readonly #work: SessionWork
  readonly #idle: IdleAgents
  /** Sessions with a queued look at their log. */
  readonly #queued = new Set<string>()
  /** Sessions with a message whose append failed but may still become durable. */
  readonly #unsure = new Set<string>()
  readonly #stopListening: () => void

  constructor(options: AgentProcessesOptions) {
    this.#options = options
    this.#work = new SessionWork(options.clock ?? jumpAwareClock, options.onError)
    this.#processes = new AgentProcesses(options, {
      ended: (...ended) => this.#ended(...ended),
      fencedOff: (sessionId) => this.#onLeaseLost(sessionId),
    })
    this.#turns = new OpenTurns(options, this.#processes)
    this.#idle = new IdleAgents(options, this.#processes, (sessionId) =>
      this.#work.inOrder(sessionId, () => this.#free(sessionId)),
    )
    this.#attended = new AttendedSessions(options.desk, {
      changed: (sessionId, events) => this.#changed(sessionId, events),
      deleted: (sessionId) => void this.#work.untilDone(() => this.#drop(sessionId)),
    })
    this.#stopListening = options.desk.on(({ sessionId, events }) => this.#onEvents(sessionId, events))
  }

  /** Does what the log of the session requires, here or in the process that has its lease. Failures are retried. */
  attend(sessionId: string, options: AttendOptions = {}): Promise<void> {
    return this.#work.inOrderUntilDone(sessionId, () => this.#attend(sessionId, options))
  }

  /** Like `attend`, and again if the message with the unknown outcome becomes durable later. */
  attendUnsure(sessionId: string): Promise<void> {
    this.#unsure.add(sessionId)
    return this.attend(sessionId)
  }

  /** `cancel` cancels what is pending. Those settlements do not start a lost agent, which would only get the interrupt. */
  async interrupt(sessionId: string, cancel: () => Promise<StopResult>): Promise<void> {
    await this.#work.inOrder(sessionId, async () => {
      const { turnId } = await cancel()
      if (turnId === undefined) return
      await this.#work.nowThenInOrder(sessionId, () => this.#interrupt(sessionId, turnId))
    })
  }

  /** The next message starts a fresh context. */
  async clear(sessionId: string, cancel: () => Promise<StopResult>): Promise<void> {
    // An agent that does not react to an interrupt must not prevent a clear.
    if (this.#processes.isInterrupting(sessionId)) await this.#processes.end(sessionId)
    await this.#work.inOrder(sessionId, async () => {
      const { turnId } = await cancel()
      await this.#work.nowThenInOrder(sessionId, () => this.#clear(sessionId, turnId))
    })
  }

  setPermissionMode(sessionId: string, mode: PermissionMode): Promise<void> {
    return this.#work.untilDone(() => this.#setPermissionMode(sessionId, mode))
  }

  /** Ends the agent if it runs here. Another process ends it when it learns that the session was deleted. */
  async delete(sessionId: string, erase: () => Promise<void>): Promise<void> {
    const erased = this.#work.inOrder(sessionId, async () => {
      await this.#processes.end(sessionId)
      try {
        await erase()
      } finally {
        // If the deletion failed, the turn must not stay open without an agent.
        if (this.#attended.get(sessionId))
          await this.#work.nowThenInOrder(sessionId, () => this.#attend(sessionId))
      }
    })
    // Also at once, because work in the queue may wait for the agent.
    await Promise.all([this.#processes.end(sessionId), erased])
  }

  /** At start: attends to the sessions whose agent was lost with the last process. What is pending stays pending. */
  async recover(): Promise<void> {
    for (const adapter of this.#options.agents.adapters) {
      await adapter.recover?.().catch((error: unknown) => this.#options.onError(error))
    }
    await this.#options.leases?.start({
      mail: (command) => this.#execute(commandFrom(command)),
      orphans: (sessionIds, commands) => this.#takeOver(sessionIds, commands.map(commandFrom)),
      lost: (sessionIds) => {
        for (const sessionId of sessionIds) this.#onLeaseLost(sessionId)
      },
    })
    await this.#work.start(() => this.#attendStrays(RESTARTED))
  }

  /** Ends every process; sessions stay as they are and are recovered at the next start. */
  async stopAll(): Promise<void> {
    this.#work.end()
    this.#idle.stop()
    this.#stopListening()
    await this.#processes.stopAll()
    await this.#options.leases?.close()
  }

  /** Attends to open turns without a lease: the process that should have one may have died before it acquired it. */
  async #attendStrays(message: string): Promise<void> {
    const { desk, leases } = this.#options
    const taken = await leases?.taken()
    let after: string | undefined
    do {
      const page = await desk.sessions({ limit: 500, ...(after !== undefined && { after }) })
      for (const { id, agent, status } of page.items) {
        if (agent === null || !hasOpenTurn(status) || taken?.has(id)) continue
        // Without leases it is unknown whether its agent was started.
        await this.attend(id, { message, run: 'presumably' })
      }
      after = page.next ?? undefined
    } while (after !== undefined)
  }

  /** Takes over from a dead process. Its commands come first, because they name messages that no agent has received. */
  async #takeOver(sessionIds: string[], commands: AgentCommand[]): Promise<void> {
    for (const command of commands) await this.#execute(command, TAKEN_OVER)
    for (const sessionId of sessionIds) await this.attend(sessionId, { isOrphan: true })
    await this.#attendStrays(TAKEN_OVER)
  }

  /** Throws if it fails: then the command stays in the mailbox. */
  async #execute(command: AgentCommand, message?: string): Promise<void> {
    const { sessionId } = command
    const work = async () => {
      switch (command.do) {
        case 'interrupt':
          return this.#interrupt(sessionId, command.turnId)
        case 'clear':
          return this.#clear(sessionId, command.turnId)
        case 'setPermissionMode':
          return this.#setPermissionMode(sessionId, command.mode)
        default:
          return this.#attend(sessionId, { ...(message && { message }), messageId: command.messageId })
      }
    }
    await this.#work.inOrder(sessionId, work).catch(ignoreIfOver)
  }

  async #attend(
    sessionId: string,
    { messageId, message = TAKEN_OVER, run = 'never', isOrphan = false }: AttendOptions = {},
  ): Promise<void> {
    if (this.#processes.stopped) return
    const { leases } = this.#options
    const isKnown = isOrphan || this.#attended.get(sessionId) || leases?.fence(sessionId)
    // Acquiring a lease that is not needed would cost two writes.
    if (!isKnown && (await this.#turns.active(sessionId)) === null) return
    if (!(await this.#hasLease(sessionId, { do: 'attend', sessionId, ...(messageId && { messageId }) })))
      return
    try {
      const before = { run: leases ? runBefore(leases.takeovers(sessionId)) : run, messageId }
      const session = this.#attended.get(sessionId) ?? (await this.#begin(sessionId, before, message))
      if (messageId !== undefined) session.expect(messageId)
      await this.#reconcile(sessionId, session)
    } catch (error) {
      if (error instanceof StartAbandoned) return
      if (isMissing(error)) return this.#drop(sessionId)
      if (leases && isFenced(error)) return this.#onLeaseLost(sessionId)
      throw error
    }
  }

  async #begin(sessionId: string, before: PriorRun, message: string): Promise<AttendedSession> {
    const session = await this.#attended.add(sessionId, before)
    if (!session.isInterrupted || this.#processes.has(sessionId)) return session
    if (await this.#processes.reconnect(sessionId)) session.isInterrupted = false
    else session.unreportedLoss = message
    return session
  }

  /** Makes the agent that runs here match the log. */
  async #reconcile(sessionId: string, session: AttendedSession): Promise<void> {
    if (this.#processes.stopped) return
    const state = await this.#turns.state(sessionId)
    const isRunning = this.#processes.has(sessionId)
    const isInterrupted = !isRunning && state.activeTurnId !== null && session.isInterrupted
    if (isInterrupted && session.unreportedLoss !== null) {
      const said: ReportedEvent = {
        type: 'error',
        code: AGENT_LOST,
        message: session.unreportedLoss,
        fatal: false,
      }
      await this.#processes.report(sessionId, [said])
      session.unreportedLoss = null
    }
    const messages = session.takeMessages(state)
    if (messages.length > 0 || (isInterrupted && hasUnusedSettlement(state))) {
      session.isInterrupted = false
      return this.#sendMessages(sessionId, messages, isInterrupted ? state : null)
    }
    if (isRunning) return
    if (state.activeTurnId !== null) {
      if (isInterrupted && state.pending.length > 0) return
      // The agent is lost, and nothing would start it again.
      await this.#turns.end(sessionId, state.activeTurnId, { reason: 'error', cause: AGENT_LOST })
    }
    await this.#drop(sessionId)
  }

  /** Starts the agent unless it runs, and sends it the messages. `cut` is the state of an interrupted turn that it has to resume. */
  #sendMessages(sessionId: string, messages: TurnMessage[], cut: SessionStateJson | null): void {
    const turnId = messages.at(-1)?.turnId ?? cut?.activeTurnId
    const resume = cut?.activeTurnId ? { turnId: cut.activeTurnId, state: cut } : null
    const started = this.#processes.start(sessionId, resume)
    const given = started.then(async (agent) => {
      for (const message of messages) await agent.send({ text: message.text, turnId: message.turnId })
    })
    given.catch((error: unknown) => {
      if (error instanceof StartAbandoned || turnId === undefined || turnId === null) return
      void this.#work.inOrderUntilDone(sessionId, () => this.#failed(sessionId, turnId, error))
    })
  }

  /** Releases a session that needs nothing. A message may have become durable meanwhile, so the log is read once more. */
  async #drop(sessionId: string): Promise<void> {
    const { leases } = this.#options
    this.#attended.delete(sessionId)
    await this.#processes.end(sessionId)
    if (!leases) return
    await leases.release(sessionId)
    const state = await this.#turns.state(sessionId).catch(nullIfMissing)
    if (state && state.activeTurnId !== null) void this.attend(sessionId)
  }

  /** Ends an agent that has nothing to do. Its next message starts it again. */
  async #free(sessionId: string): Promise<void> {
    if (this.#processes.stopped || !this.#processes.canBeFreed(sessionId)) return
    const state = await this.#turns.state(sessionId).catch(nullIfMissing)
    if (state?.activeTurnId === null && state.pending.length === 0) await this.#drop(sessionId)
  }

  async #interrupt(sessionId: string, turnId: string): Promise<void> {
    if ((await this.#turns.active(sessionId)) !== turnId) return
    if (!(await this.#hasLease(sessionId, { do: 'interrupt', sessionId, turnId }))) return
    if (!(await this.#processes.interrupt(sessionId))) await this.#processes.end(sessionId)
    await this.#turns.end(sessionId, turnId)
    await this.#attend(sessionId)
  }

  async #clear(sessionId: string, turnId: string | undefined): Promise<void> {
    const { leases } = this.#options
    const activeTurn = await this.#turns.active(sessionId)
    // The agent of a later turn has the fresh context already.
    if (activeTurn !== null && activeTurn !== turnId) return
    if (activeTurn === null && leases && !(await leases.find(sessionId))) return
    const command: AgentCommand = { do: 'clear', sessionId, ...(turnId !== undefined && { turnId }) }
    if (!(await this.#hasLease(sessionId, command))) return
    await this.#processes.end(sessionId)
    if (turnId !== undefined) await this.#turns.end(sessionId, turnId)
    await this.#attend(sessionId)
  }

  async #setPermissionMode(sessionId: string, mode: PermissionMode): Promise<void> {
    const { leases, desk } = this.#options
    const lease = await leases?.find(sessionId)
    if (leases && lease && !lease.mine) {
      // If that process is dead, the next agent starts with the new mode.
      await leases.post(lease.owner, jsonOf({ do: 'setPermissionMode', sessionId, mode }))
      return
    }
    // The mode may have been changed again since.
    const { session } = await desk.snapshot(sessionId, { fresh: true })
    if (session.permissionMode === mode) await this.#processes.setPermissionMode(sessionId, mode)
  }

  /** Whether this process has the lease, or there are no leases. Otherwise sends the command to the owner. */
  async #hasLease(sessionId: string, command: AgentCommand): Promise<boolean> {
    const { leases } = this.#options
    if (!leases) return true
    for (;;) {
      const lease = await leases.acquire(sessionId)
      if (lease.mine) return true
      if (await leases.post(lease.owner, jsonOf(command))) return false
    }
  }

  /** Other processes took this one for dead and may run the session now: the agent here must not write any more, and is ended. */
  #onLeaseLost(sessionId: string): void {
    this.#options.leases?.forget(sessionId)
    this.#attended.delete(sessionId)
    void this.#work.untilDone(async () => {
      // Outside of the queue, because work in the queue may wait for this agent.
      await this.#processes.end(sessionId)
      await this.attend(sessionId)
    })
  }

  #onEvents(sessionId: string, events: SessionEvent[]): void {
    this.#options.live.finished(sessionId, events)
    this.#turns.update(events)
    const hasMessage = events.some(({ type }) => type === 'user_message')
    if (hasMessage && this.#unsure.delete(sessionId)) void this.attend(sessionId)
  }

  /** Called with new durable events of an attended session. */
  #changed(sessionId: string, events: SessionEvent[]): void {
    this.#idle.changed(sessionId)
    const isMessage = ({ type }: SessionEvent) => type === 'user_message'
    const concernsLost = ({ type }: SessionEvent) => type === 'interaction_response' || type === 'turn_ended'
    const isRunning = this.#processes.has(sessionId)
    if (!events.some((event) => isMessage(event) || (!isRunning && concernsLost(event)))) return
    if (this.#queued.has(sessionId)) return
    this.#queued.add(sessionId)
    void this.#work.inOrderUntilDone(sessionId, async () => {
      this.#queued.delete(sessionId)
      if (this.#attended.get(sessionId)) await this.#attend(sessionId)
    })
  }

  /** Called when an agent has ended. What is pending stays pending, and its answer starts the agent again. */
  async #ended(sessionId: string, ending: AgentEnd, wasCurrent: boolean): Promise<void> {
    let isCounted = !wasCurrent
    await this.#work.inOrderUntilDone(sessionId, async () => {
      const session = this.#attended.get(sessionId)
      if (!session || this.#processes.stopped || this.#processes.has(sessionId)) return
      const turnId = await this.#turns.active(sessionId)
      if (!isCounted && turnId !== null) this.#markInterrupted(session, turnId, ending)
      isCounted = true
      if (turnId === null || !this.#turns.isHopeless(turnId)) return this.#attend(sessionId)
      await this.#failed(sessionId, turnId, new Error(session.unreportedLoss ?? 'The agent was lost.'))
    })
  }

  #markInterrupted(session: AttendedSession, turnId: string, ending: AgentEnd): void {
    session.isInterrupted = true
    if (ending.how !== 'lost') return
    session.unreportedLoss = ending.message
    this.#turns.countLoss(turnId)
  }

  async #failed(sessionId: string, turnId: string, error: unknown): Promise<void> {
    await this.#turns.fail(sessionId, turnId, error)
    await this.#attend(sessionId)
  }
}

const RESTARTED = 'The agent was stopped by a restart of the gateway.'
const TAKEN_OVER = 'The gateway that ran the agent is gone. Another one has taken over.'

function runBefore(takeovers: number): PriorRun['run'] {
  if (takeovers === 0) return 'never'
  return takeovers === 1 ? 'maybe' : 'presumably'
}
