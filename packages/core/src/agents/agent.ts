import type { LiveEvent, PermissionMode, SessionStateJson } from '@askback/protocol'
import type { ReportedEvent } from '../decide/command.js'
import type { SessionHandle } from '../desk/session.js'

/** Runs one kind of agent and reports what it does to a session. */
export interface AgentAdapter {
  readonly id: string
  readonly name: string
  /** Whether it can run here; `reason` says in one line what is missing. */
  check(): Promise<Availability>
  /** Called once, before sessions are recovered: ends the orphan processes of an earlier gateway. */
  recover?(): Promise<void>
  /**
   * Connects to an agent that an earlier gateway left running, in the turn of `resume`; `null` if there is none. The agent continues
   * without new input.
   */
  reconnect?(context: AgentContext & { resume: object }): Promise<AgentProcess | null>
  /**
   * Throws an error with a message for people if the agent cannot be started. If `signal` aborts before the agent has started, throws
   * any error and leaves nothing running.
   */
  start(context: AgentContext, signal: AbortSignal): Promise<AgentProcess>
}

/**
 * `uses` names the program that would run, if there is a choice. `reason` says in one line what is missing, with the command to run; an
 * agent that can be started may lack something, too, such as a login.
 */
export type Availability =
  | { available: true; uses?: string; reason?: string }
  | { available: false; reason: string }

type WithoutOffset<T> = T extends unknown ? Omit<T, 'offset'> : never

/** A delta without its offset in the block, which is counted for the adapter. */
export type LiveDelta = WithoutOffset<LiveEvent>

/** What an adapter gets to run an agent in a session. */
export interface AgentContext {
  readonly sessionId: string
  readonly cwd: string | null
  readonly model: string | null
  readonly permissionMode: PermissionMode
  /** The agent's own session to continue; `null` starts a new one. */
  readonly agentSessionId: string | null
  /** Set if the agent has to resume an interrupted turn, whose interactions may be settled or still pending. */
  readonly resume: { turnId: string; state: SessionStateJson } | null
  /** Environment variables with which scripts in the agent's shells reach Askback. */
  readonly env: Readonly<Record<string, string>>
  /** Asks a person, through the desk. */
  readonly session: SessionHandle
  /** Appends what the agent does to the log; resolves when it is durable. */
  report(...events: ReportedEvent[]): Promise<void>
  /** Shows a part of an unfinished block. It is never stored. */
  live(delta: LiveDelta): void
}

/** A running agent. */
export interface AgentProcess {
  /** Sends a message to the agent. Its turn is in the log already, and ends when the adapter reports `turn_ended`. */
  send(message: { text: string; turnId: string }): Promise<void>
  /** Interrupts the turn. Pending interactions are cancelled already. Resolves when the turn has ended as `interrupted`. */
  interrupt(): Promise<void>
  setPermissionMode(mode: PermissionMode): Promise<void>
  /** Called when the session starts or stops waiting for a person. */
  setWaiting?(isWaiting: boolean): Promise<void>
  /**
   * Whether the process can be ended while no turn is open, because it has no work in the background, and another one continues its
   * conversation by `agentSessionId`. Without this method it is never ended for being idle.
   */
  canBeFreed?(): boolean
  /** Ends the process. The session does not change: what is pending stays pending. */
  stop(): Promise<void>
  /** Resolves when the process has ended. */
  readonly ended: Promise<AgentEnd>
}

/**
 * Why a process ended. `stopped`: on request. `parked`: by itself, while it waits for a person; it is resumed with the answer.
 * `lost`: unexpectedly; the message says how.
 */
export type AgentEnd = { how: 'stopped' } | { how: 'parked' } | { how: 'lost'; message: string }
