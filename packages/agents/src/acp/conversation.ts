import { AskbackError, type PermissionMode } from '@askback/protocol'
import type { Peer } from '../program/peer.js'
import { decidesAlone, modeFor, modesIn, modesOf, type Modes } from './modes.js'
import type { Initialized, ModeUpdate, OpenedSession } from './protocol.js'

export interface ConversationOptions {
  cwd: string
  /** What people call the agent. */
  name: string
  /** The agent's mode outside plan mode, instead of the one that is known to ask a person. */
  mode?: string | undefined
}

/** The agent's own session. */
export class Conversation {
  readonly #peer: Peer
  readonly #can: NonNullable<Initialized['agentCapabilities']>
  readonly #agent: string | undefined
  readonly #options: ConversationOptions
  readonly #place: { cwd: string; mcpServers: [] }
  #sessionId = ''
  #modes: Modes | null = null
  #startedIn = ''
  #isReplaying = false

  constructor(peer: Peer, { agentCapabilities, agentInfo }: Initialized, options: ConversationOptions) {
    this.#peer = peer
    this.#can = agentCapabilities ?? {}
    this.#agent = agentInfo?.name
    this.#options = options
    this.#place = { cwd: options.cwd, mcpServers: [] }
  }

  get sessionId(): string {
    return this.#sessionId
  }

  /** Whether it tells everything once more that the log has already. */
  get isReplaying(): boolean {
    return this.#isReplaying
  }

  /** What a person must know if the agent does not leave decisions to them; `null` if it does. */
  get decidesAlone(): string | null {
    return this.#modes && decidesAlone(this.#modes, { agent: this.#agent, name: this.#options.name })
  }

  /** Goes on with an earlier session, or makes one. `isLost`: the earlier one is not to be had any more. */
  async open(before: string | null): Promise<{ isLost: boolean }> {
    const opened = before === null ? null : await this.#reopen(before)
    const session = opened ?? (await this.#peer.request<OpenedSession>('session/new', this.#place))
    this.#sessionId = session.sessionId ?? before ?? ''
    this.#modes = modesOf(session)
    this.#startedIn = this.#modes?.current ?? ''
    this.#checkMode()
    return { isLost: before !== null && !opened }
  }

  /** One that the agent refuses stays as it was: `decidesAlone` tells what that means. */
  async setMode(mode: PermissionMode): Promise<void> {
    const modes = this.#modes
    const value = modes && modeFor(mode, modes, { wanted: this.#options.mode, startedIn: this.#startedIn })
    if (!modes || value === null || modes.current === value) return
    const sessionId = this.#sessionId
    const { configId } = modes
    const set =
      configId === null
        ? this.#peer.request('session/set_mode', { sessionId, modeId: value })
        : this.#peer.request('session/set_config_option', { sessionId, configId, value })
    await set.then(
      () => this.#setCurrent(value),
      () => {},
    )
  }

  /** The agent says which mode it is in. */
  modeChanged(update: ModeUpdate): void {
    const current =
      update.sessionUpdate === 'current_mode_update'
        ? update.currentModeId
        : modesIn(update.configOptions)?.current
    if (current !== undefined) this.#setCurrent(current)
  }

  #setCurrent(current: string): void {
    if (this.#modes) this.#modes = { ...this.#modes, current }
  }

  #checkMode(): void {
    const { mode, name } = this.#options
    const offered = this.#modes?.offered.map(({ id }) => id) ?? []
    if (mode === undefined || offered.includes(mode)) return
    const those = offered.length === 0 ? 'it has none' : `it has ${offered.join(', ')}`
    throw new AskbackError(
      'unavailable',
      `${name} has no mode “${mode}”: ${those}. Correct its configuration.`,
    )
  }

  /** `null` if the agent cannot, or does not know it any more. */
  async #reopen(sessionId: string): Promise<OpenedSession | null> {
    const { loadSession, sessionCapabilities } = this.#can
    const method = sessionCapabilities?.resume ? 'session/resume' : loadSession ? 'session/load' : null
    if (method === null) return null
    this.#isReplaying = true
    try {
      const opened = await this.#peer.request<OpenedSession | null>(method, { sessionId, ...this.#place })
      return { ...opened, sessionId }
    } catch {
      return null
    } finally {
      await this.#peer.settled
      this.#isReplaying = false
    }
  }
}
