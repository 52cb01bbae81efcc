import {
  AskbackError,
  type EventOf,
  type PermissionMode,
  type SessionEvent,
  type SessionStateJson,
  type SessionStatus,
} from '@askback/protocol'
import { systemClock } from '../clock.js'
import type { Reported } from '../decide/command.js'
import { AGENT_LOST } from '../decide/report.js'
import { InOrder } from '../in-order.js'
import { Retry } from '../retry.js'
import type { Ending } from './agent.js'
import { commandFrom, jsonOf, type AgentCommand } from './agent-command.js'
import { AgentProcesses, type AgentProcessesOptions } from './agent-processes.js'
import { AttendedSessions, type AttendedSession, type Before, type TurnMessage } from './attended-sessions.js'
import { GivenUp } from './running-agent.js'

/** In one turn: an agent that crashes on what it was given would be started again for ever. */
const MAX_LOSSES = 3

/** How a command ended, as the desk recorded it. */
interface Stopped {
  repeated: boolean
  /** The turn that was open when the command was first sent. */
  turnId?: string
}

interface AttendOptions {
  /** A message that no agent was given before. */
  messageId?: string | undefined
  /** What the log says about an agent that is gone. */
  message?: string
  /** Where there are no leases to tell. */
  run?: Before['run']
  /** Its lease is that of a dead process, and has to go if it is not needed. */
  isOrphan?: boolean
}

/**
 * Starts, feeds and ends the agents of this process' sessions. What is to be done for a session follows from its log: `attend`
 * compares the two, and can be called at any time by anybody. So a command is only a reason to look, and nothing depends on
 * its arriving once. For every open turn there is a process that attends to it, or will:
 *
 * - the one that holds the lease of the session, and follows its log;
 * - the one that took a message, until it holds the lease or has put a command into the mailbox of the one that does;
 * - where either has died, whoever takes over: its leases, its mailbox, and open turns that nobody has a lease for.
 */
export class AgentRunner {
  readonly #options: AgentProcessesOptions
  readonly #processes: AgentProcesses
  readonly #attended: AttendedSessions
  readonly #retry: Retry
  /** What is done for one session is done in order. An agent that is starting is not waited for. */
  readonly #inOrder = new InOrder()
  /** Sessions that will be looked at again because of what they were told, and have not been yet. */
  readonly #queued = new Set<string>()
  /** Sessions in which a message may still become durable though its append has failed. */
  readonly #unsure = new Set<string>()
  /** How often the agent of a turn that is open was lost. */
  readonly #losses = new Map<string, number>()
  readonly #stopListening: () => void

  constructor(options: AgentProcessesOptions) {
    this.#options = options
    this.#retry = new Retry(options.clock ?? systemClock, options.onError)
    this.#processes = new AgentProcesses(options, {
      ended: (...ended) => this.#ended(...ended),
      fencedOff: (sessionId) => this.#lose(sessionId),
    })
    this.#attended = new AttendedSessions(options.desk, {
      changed: (sessionId, events) => this.#changed(sessionId, events),
      deleted: (sessionId) => void this.#repeated(() => this.#drop(sessionId)),
    })
    this.#stopListening = options.desk.on(({ sessionId, events }) => this.#heard(sessionId, events))
  }

  /** Does what the log of the session asks for, here or in the process that has its lease. What fails is tried again. */
  attend(sessionId: string, options: AttendOptions = {}): Promise<void> {
    return this.#repeated(() => this.#inOrder.run(sessionId, () => this.#attend(sessionId, options)))
  }

  /** The same, and again if a message of which nobody knows becomes durable later. */
  attendUnsure(sessionId: string): Promise<void> {
    this.#unsure.add(sessionId)
    return this.attend(sessionId)
  }

  /** `cancel` cancels what is pending. Nothing that this settles starts a lost agent: it would only hear of the interrupt. */
  async interrupt(sessionId: string, cancel: () => Promise<Stopped>): Promise<void> {
    await this.#inOrder.run(sessionId, async () => {
      const { turnId } = await cancel()
      if (turnId === undefined) return
      await this.#firstInOrder(sessionId, () => this.#interrupt(sessionId, turnId))
    })
  }

  /** The next message starts a fresh context. */
  async clear(sessionId: string, cancel: () => Promise<Stopped>): Promise<void> {
    // An agent that does not react to an interrupt must not keep its session from being cleared.
    if (this.#processes.isInterrupting(sessionId)) await this.#processes.end(sessionId)
    await this.#inOrder.run(sessionId, async () => {
      const { turnId } = await cancel()
      await this.#firstInOrder(sessionId, () => this.#clear(sessionId, turnId))
    })
  }

  setPermissionMode(sessionId: string, mode: PermissionMode): Promise<void> {
    return this.#repeated(() => this.#setPermissionMode(sessionId, mode))
  }

  /** Ends the agent if it runs here. Elsewhere it ends when its process learns that the session is gone. */
  async delete(sessionId: string, erase: () => Promise<void>): Promise<void> {
    const erased = this.#inOrder.run(sessionId, async () => {
      await this.#processes.end(sessionId)
      try {
        await erase()
      } finally {
        // If it is still there, its turn must not stay open without an agent.
        if (this.#attended.get(sessionId)) await this.#firstInOrder(sessionId, () => this.#attend(sessionId))
      }
    })
    // Also before its turn: what is under way may wait for the agent.
    await Promise.all([this.#processes.end(sessionId), erased])
  }

  /** At start: sessions whose agent went down with the last process. What is pending in them stays pending. */
  async recover(): Promise<void> {
    for (const adapter of this.#options.agents.adapters) {
      await adapter.recover?.().catch((error: unknown) => this.#options.onError(error))
    }
    await this.#options.leases?.start({
      mail: (command) => this.#execute(commandFrom(command)),
      orphans: (sessionIds, commands) => this.#takeOver(sessionIds, commands.map(commandFrom)),
      lost: (sessionIds) => {
        for (const sessionId of sessionIds) this.#lose(sessionId)
      },
    })
    await this.#retry.untilDone(() => this.#attendStrays(RESTARTED))
  }

  /** Ends every process; sessions stay as they are and are recovered at the next start. */
  async stopAll(): Promise<void> {
    this.#retry.end()
    this.#stopListening()
    await this.#processes.stopAll()
    await this.#options.leases?.close()
  }

  /** Open turns that nobody has a lease for: who should have may have died before it took one. */
  async #attendStrays(message: string): Promise<void> {
    const { desk, leases } = this.#options
    const taken = await leases?.taken()
    let after: string | undefined
    do {
      const page = await desk.sessions({ limit: 500, ...(after !== undefined && { after }) })
      for (const { id, agent, status } of page.items) {
        if (agent === null || !isActive(status) || taken?.has(id)) continue
        // Without leases nobody can tell whether its agent was started.
        await this.attend(id, { message, run: 'presumably' })
      }
      after = page.next ?? undefined
    } while (after !== undefined)
  }

  /** The process that ran these agents is gone. Its commands come first: they name messages that no agent was given. */
  async #takeOver(sessionIds: string[], commands: AgentCommand[]): Promise<void> {
    for (const command of commands) await this.#execute(command, TAKEN_OVER)
    for (const sessionId of sessionIds) await this.attend(sessionId, { isOrphan: true })
    await this.#attendStrays(TAKEN_OVER)
  }

  /** Fails if it could not be done: then it stays in the mailbox. */
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
    await this.#inOrder.run(sessionId, work).catch(unlessOver)
  }

  async #attend(
    sessionId: string,
    { messageId, message = TAKEN_OVER, run = 'never', isOrphan = false }: AttendOptions = {},
  ): Promise<void> {
    if (this.#processes.stopped) return
    const { leases } = this.#options
    const isKnown = isOrphan || this.#attended.get(sessionId) || leases?.fence(sessionId)
    // A lease that is not needed would cost two writes.
    if (!isKnown && (await this.#activeTurn(sessionId)) === null) return
    if (!(await this.#hasLease(sessionId, { do: 'attend', sessionId, ...(messageId && { messageId }) })))
      return
    try {
      const before = { run: leases ? runBefore(leases.takeovers(sessionId)) : run, messageId }
      const session = this.#attended.get(sessionId) ?? (await this.#begin(sessionId, before, message))
      if (messageId !== undefined) session.expect(messageId)
      await this.#reconcile(sessionId, session)
    } catch (error) {
      if (error instanceof GivenUp) return
      if (isMissing(error)) return this.#drop(sessionId)
      if (leases && isFenced(error)) return this.#lose(sessionId)
      throw error
    }
  }

  async #begin(sessionId: string, before: Before, message: string): Promise<AttendedSession> {
    const session = await this.#attended.add(sessionId, before)
    if (!session.isCut || this.#processes.has(sessionId)) return session
    if (await this.#processes.reconnect(sessionId)) session.isCut = false
    else session.unsaid = message
    return session
  }

  /** Makes what runs here fit the log. */
  async #reconcile(sessionId: string, session: AttendedSession): Promise<void> {
    if (this.#processes.stopped) return
    const state = await this.#state(sessionId)
    const isRunning = this.#processes.has(sessionId)
    const isCut = !isRunning && state.activeTurnId !== null && session.isCut
    if (isCut && session.unsaid !== null) {
      const said: Reported = { type: 'error', code: AGENT_LOST, message: session.unsaid, fatal: false }
      await this.#processes.report(sessionId, [said])
      session.unsaid = null
    }
    const messages = session.takeMessages(state)
    if (messages.length > 0 || (isCut && unanswered(state))) {
      session.isCut = false
      return this.#give(sessionId, messages, isCut ? state : null)
    }
    if (isRunning) return
    if (state.activeTurnId !== null) {
      if (isCut && state.pending.length > 0) return
      // The agent is gone, and nothing will start it again.
      await this.#endTurn(sessionId, state.activeTurnId, { reason: 'error', cause: AGENT_LOST })
    }
    await this.#drop(sessionId)
  }

  /** Starts the agent unless it runs, and gives it these messages. `cut` is the state of a turn that it has to go on with. */
  #give(sessionId: string, messages: TurnMessage[], cut: SessionStateJson | null): void {
    const turnId = messages.at(-1)?.turnId ?? cut?.activeTurnId
    const resume = cut?.activeTurnId ? { turnId: cut.activeTurnId, state: cut } : null
    const started = this.#processes.start(sessionId, resume)
    const given = started.then(async (agent) => {
      for (const message of messages) await agent.send({ text: message.text, turnId: message.turnId })
    })
    given.catch((error: unknown) => {
      if (error instanceof GivenUp || turnId === undefined || turnId === null) return
      void this.#repeated(() => this.#inOrder.run(sessionId, () => this.#failed(sessionId, turnId, error)))
    })
  }

  /** The session needs nothing any more. A message that became durable meanwhile may have been meant for this process. */
  async #drop(sessionId: string): Promise<void> {
    const { leases } = this.#options
    this.#attended.delete(sessionId)
    await this.#processes.end(sessionId)
    if (!leases) return
    await leases.release(sessionId)
    const state = await this.#state(sessionId).catch(unlessMissing)
    if (state && state.activeTurnId !== null) void this.attend(sessionId)
  }

  async #interrupt(sessionId: string, turnId: string): Promise<void> {
    if ((await this.#activeTurn(sessionId)) !== turnId) return
    if (!(await this.#hasLease(sessionId, { do: 'interrupt', sessionId, turnId }))) return
    if (!(await this.#processes.interrupt(sessionId))) await this.#processes.end(sessionId)
    await this.#endTurn(sessionId, turnId)
    await this.#attend(sessionId)
  }

  async #clear(sessionId: string, turnId: string | undefined): Promise<void> {
    const { leases } = this.#options
    const activeTurn = await this.#activeTurn(sessionId)
    // The agent of a later turn has begun with the fresh context.
    if (activeTurn !== null && activeTurn !== turnId) return
    if (activeTurn === null && leases && !(await leases.find(sessionId))) return
    const command: AgentCommand = { do: 'clear', sessionId, ...(turnId !== undefined && { turnId }) }
    if (!(await this.#hasLease(sessionId, command))) return
    await this.#processes.end(sessionId)
    if (turnId !== undefined) await this.#endTurn(sessionId, turnId)
    await this.#attend(sessionId)
  }

  async #setPermissionMode(sessionId: string, mode: PermissionMode): Promise<void> {
    const { leases, desk } = this.#options
    const lease = await leases?.find(sessionId)
    if (leases && lease && !lease.mine) {
      // Where that process is gone, the next agent starts with the new mode.
      await leases.post(lease.owner, jsonOf({ do: 'setPermissionMode', sessionId, mode }))
      return
    }
    // It may have been changed again since.
    const { session } = await desk.snapshot(sessionId, { fresh: true })
    if (session.permissionMode === mode) await this.#processes.setPermissionMode(sessionId, mode)
  }

  /** Whether this process has the lease, or there are none. If another has it, that one gets the command. */
  async #hasLease(sessionId: string, command: AgentCommand): Promise<boolean> {
    const { leases } = this.#options
    if (!leases) return true
    for (;;) {
      const lease = await leases.acquire(sessionId)
      if (lease.mine) return true
      if (await leases.post(lease.owner, jsonOf(command))) return false
    }
  }

  /** Others took this process for dead, and may have the session now: its agent must write nothing more, and ends. */
  #lose(sessionId: string): void {
    this.#options.leases?.forget(sessionId)
    this.#attended.delete(sessionId)
    void this.#repeated(async () => {
      // Not in order: what waits for this agent ends with it.
      await this.#processes.end(sessionId)
      await this.attend(sessionId)
    })
  }

  #heard(sessionId: string, events: SessionEvent[]): void {
    this.#options.live.finished(sessionId, events)
    for (const event of events) {
      if (event.type === 'turn_ended') this.#losses.delete(event.turnId)
      if (event.type === 'user_message' && this.#unsure.delete(sessionId)) void this.attend(sessionId)
    }
  }

  /** Something became durable in a session that this process attends to. */
  #changed(sessionId: string, events: SessionEvent[]): void {
    const isMessage = ({ type }: SessionEvent) => type === 'user_message'
    const concernsLost = ({ type }: SessionEvent) => type === 'interaction_response' || type === 'turn_ended'
    const isRunning = this.#processes.has(sessionId)
    if (!events.some((event) => isMessage(event) || (!isRunning && concernsLost(event)))) return
    if (this.#queued.has(sessionId)) return
    this.#queued.add(sessionId)
    void this.#repeated(() =>
      this.#inOrder.run(sessionId, async () => {
        this.#queued.delete(sessionId)
        if (this.#attended.get(sessionId)) await this.#attend(sessionId)
      }),
    )
  }

  /** An agent has ended. What is pending stays so, and its answer starts the agent again. */
  async #ended(sessionId: string, ending: Ending, wasCurrent: boolean): Promise<void> {
    let isCounted = !wasCurrent
    await this.#repeated(() =>
      this.#inOrder.run(sessionId, async () => {
        const session = this.#attended.get(sessionId)
        if (!session || this.#processes.stopped || this.#processes.has(sessionId)) return
        const turnId = await this.#activeTurn(sessionId)
        if (!isCounted && turnId !== null) this.#cut(session, turnId, ending)
        isCounted = true
        const isHopeless = turnId !== null && (this.#losses.get(turnId) ?? 0) > MAX_LOSSES
        if (!isHopeless) return this.#attend(sessionId)
        await this.#failed(sessionId, turnId, new Error(session.unsaid ?? 'The agent was lost.'))
      }),
    )
  }

  #cut(session: AttendedSession, turnId: string, ending: Ending): void {
    session.isCut = true
    if (ending.how !== 'lost') return
    session.unsaid = ending.message
    this.#losses.set(turnId, (this.#losses.get(turnId) ?? 0) + 1)
  }

  async #failed(sessionId: string, turnId: string, error: unknown): Promise<void> {
    const message = error instanceof Error ? error.message : String(error)
    await this.#processes.report(sessionId, [
      { type: 'error', code: 'agent_failed', message, fatal: true },
      { type: 'turn_ended', turnId, reason: 'error' },
    ])
    await this.#attend(sessionId)
  }

  /** Unless it has ended by itself. A message may have begun the next one meanwhile, which goes on. */
  async #endTurn(
    sessionId: string,
    turnId: string,
    end: Pick<EventOf<'turn_ended'>, 'reason' | 'cause'> = { reason: 'interrupted' },
  ): Promise<void> {
    if ((await this.#activeTurn(sessionId)) !== turnId) return
    const left = this.#options.live.unfinished(sessionId)
    await this.#processes.report(sessionId, [
      ...left.map((event) => ({ ...event, turnId })),
      { type: 'turn_ended', turnId, ...end },
    ])
  }

  /** As it is in the store: a command can come before the news of what it is about. */
  async #state(sessionId: string): Promise<SessionStateJson> {
    return (await this.#options.desk.snapshot(sessionId, { fresh: true })).state
  }

  async #activeTurn(sessionId: string): Promise<string | null> {
    return (await this.#state(sessionId)).activeTurnId
  }

  /** For whoever has its turn already: the first attempt is made at once, and the others have to wait for theirs. */
  #firstInOrder(sessionId: string, work: () => Promise<void>): Promise<void> {
    let isFirst = true
    return this.#repeated(() => {
      if (!isFirst) return this.#inOrder.run(sessionId, work)
      isFirst = false
      return work()
    })
  }

  /** Until it is done, unless the session is deleted or another's by then: a turn that nobody runs would never end. */
  #repeated(work: () => Promise<void>): Promise<void> {
    return this.#retry.attempt(() => work().catch(unlessOver))
  }
}

const RESTARTED = 'The agent was stopped by a restart of the gateway.'
const TAKEN_OVER = 'The gateway that ran the agent is gone. Another one has taken over.'

function runBefore(takeovers: number): Before['run'] {
  if (takeovers === 0) return 'never'
  return takeovers === 1 ? 'maybe' : 'presumably'
}

function isActive(status: SessionStatus): boolean {
  return status === 'running' || status === 'waiting'
}

function isMissing(error: unknown): boolean {
  return error instanceof AskbackError && error.code === 'not_found'
}

function isFenced(error: unknown): boolean {
  return error instanceof AskbackError && error.code === 'forbidden'
}

function unlessMissing(error: unknown): null {
  if (isMissing(error)) return null
  throw error
}

/** Deleted, or another process' by now. */
function unlessOver(error: unknown): void {
  if (!isMissing(error) && !isFenced(error)) throw error
}

/** Whether the open turn holds a settlement that its agent has not acted on, as far as the log tells (L10). */
function unanswered(state: SessionStateJson): boolean {
  const open = state.turns.find((turn) => turn.turnId !== null && turn.turnId === state.activeTurnId)
  const ids = new Set(open?.items.map((item) => (item.type === 'interaction' ? item.interactionId : null)))
  const ended = new Set(state.toolCalls.map((call) => (call.result ? call.toolCallId : null)))
  return state.interactions.some(
    ({ interactionId, toolCallId, settlement }) =>
      ids.has(interactionId) && settlement !== 'superseded' && !ended.has(toolCallId),
  )
}
