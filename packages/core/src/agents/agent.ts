import type { LiveEvent, PermissionMode, SessionStateJson } from '@askback/protocol'
import type { Reported } from '../decide/command.js'
import type { SessionHandle } from '../desk/session.js'

/** Runs one kind of agent and feeds what it does into a session. */
export interface AgentAdapter {
  readonly id: string
  readonly name: string
  /** Whether it can run here; `reason` says in one line what is missing. */
  check(): Promise<Availability>
  /** Once, before sessions are taken up: ends what agents of an earlier process have left running. */
  recover?(): Promise<void>
  /**
   * The agent that a gateway before this one has left running, in the turn that `resume` names; `null` if there is none. It
   * goes on by itself: nothing is told to it again.
   */
  reconnect?(context: AgentContext & { resume: object }): Promise<AgentProcess | null>
  /**
   * Throws what a person should read if the agent cannot be started. `signal` aborts if nobody wants it any more before it
   * has started: then it throws anything, and leaves nothing running.
   */
  start(context: AgentContext, signal: AbortSignal): Promise<AgentProcess>
}

/** `uses`: the program that would be run, where there is a choice. */
export type Availability = { available: true; uses?: string } | { available: false; reason: string }

type WithoutOffset<T> = T extends unknown ? Omit<T, 'offset'> : never

/** A delta as an adapter has it: where it belongs in its block is counted for it. */
export type Delta = WithoutOffset<LiveEvent>

export interface AgentContext {
  readonly sessionId: string
  readonly cwd: string | null
  readonly model: string | null
  readonly permissionMode: PermissionMode
  /** The agent's own session, to go on with; `null` starts a fresh one. */
  readonly agentSessionId: string | null
  /** Set when a turn was cut by a restart, and what it waited for has been settled since, or is still pending. */
  readonly resume: { turnId: string; state: SessionStateJson } | null
  /** For shells that the agent runs: how a script in there reaches Askback. */
  readonly env: Readonly<Record<string, string>>
  /** Asks a person, through the desk. */
  readonly session: SessionHandle
  /** Appends what the agent does to the log; resolves when it is durable. */
  report(...events: Reported[]): Promise<void>
  /** Shows a part of a block that is not finished; never stored. */
  live(delta: Delta): void
}

export interface AgentProcess {
  /** A message for the agent. Its turn stands in the log, and ends when the adapter reports `turn_ended`. */
  send(message: { text: string; turnId: string }): Promise<void>
  /** What is pending is cancelled already. Resolves when the turn has ended, as `interrupted`. */
  interrupt(): Promise<void>
  setPermissionMode(mode: PermissionMode): Promise<void>
  /** Told when the session begins or ceases to wait for a person, whoever has asked. */
  setWaiting?(isWaiting: boolean): Promise<void>
  /** Ends the process and leaves the session as it is: what is pending stays pending. */
  stop(): Promise<void>
  /** Resolves when the process is gone. */
  readonly ended: Promise<Ending>
}

/**
 * Why a process is gone. `stopped`: it was told to. `parked`: it ended by itself while it waits for a person, and goes
 * on with the answer. `lost`: it went down; the message says how.
 */
export type Ending = { how: 'stopped' } | { how: 'parked' } | { how: 'lost'; message: string }
