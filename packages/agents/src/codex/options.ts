import type { Clock } from '@askback/core'
import type { Environment } from '../program/environment.js'

export interface CodexAgentOptions {
  /**
   * What the agent's process finds in its environment: at least PATH and HOME, and how it reaches its model. What is
   * meant for Askback itself, and URLs of databases, are taken out.
   */
  env: Environment
  /** The program: a path, or a name on PATH. `codex` by default. */
  executable?: string
  /** Arguments of the program that go before the command, such as `-c key=value`. */
  args?: string[]
  /**
   * Whether commands in the sandbox have the network. With it, scripts reach Askback by loopback and can ask; but so does any
   * command, and one that reads the gateway's data folder finds a person's token there.
   * @default false
   */
  networkAccess?: boolean
  /**
   * A folder that nobody else may read. With it a Codex goes on for a while if its gateway is killed, and the next gateway
   * with this folder finds it again in the middle of its turn. Without it, it ends with its gateway. On Linux only.
   */
  keepIn?: string
  /** How long it goes on; a minute by default. */
  keepSeconds?: number
  /** How long a request waits for a person; the desk's default without it. */
  timeoutMs?: number | null
  clock?: Clock
  newId?: () => string
}

export interface CodexOptions {
  timeoutMs?: number | null
  clock: Clock
  newId: () => string
}
