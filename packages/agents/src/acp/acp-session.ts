import { AskbackError, type PermissionMode } from '@askback/protocol'
import { JsonRpcError, type JsonRpcConnection } from '../program/json-rpc.js'
import { modelSettingOf } from './config-options.js'
import { decidesAloneNotice, modeFor, modeInOptions, modesOf, type AgentModes } from './modes.js'
import type { Initialized, ModeUpdate, OpenedSession } from './protocol.js'

/** The protocol's error code of an agent without a login. */
const AUTH_REQUIRED = -32_000

export interface AcpSessionOptions {
  cwd: string
  /** The agent's name for people. */
  name: string
  /** The agent's mode outside plan mode, instead of one that is known to ask a person. */
  mode?: string | undefined
  /** The agent's model, by the agent's own id for it; without it the agent chooses. */
  model?: string | undefined
}

/** The session that the agent itself has: opens it, and sets its mode and its model. */
export class AcpSession {
  readonly #connection: JsonRpcConnection
  readonly #capabilities: NonNullable<Initialized['agentCapabilities']>
  /** The name that the program gives itself. */
  readonly programName: string | undefined
  readonly #authMethods: NonNullable<Initialized['authMethods']>
  readonly #options: AcpSessionOptions
  readonly #params: { cwd: string; mcpServers: [] }
  #sessionId = ''
  #modes: AgentModes | null = null
  #initialMode = ''
  #isReplaying = false

  constructor(
    connection: JsonRpcConnection,
    { agentCapabilities, agentInfo, authMethods }: Initialized,
    options: AcpSessionOptions,
  ) {
    this.#connection = connection
    this.#capabilities = agentCapabilities ?? {}
    this.programName = agentInfo?.name
    this.#authMethods = authMethods ?? []
    this.#options = options
    this.#params = { cwd: options.cwd, mcpServers: [] }
  }

  get sessionId(): string {
    return this.#sessionId
  }

  /** `session/load` sends all earlier updates again, which the log has already. */
  get isReplaying(): boolean {
    return this.#isReplaying
  }

  /** A notice for people if the agent does not leave decisions to them; `null` if it does. */
  get decidesAloneNotice(): string | null {
    const names = { programName: this.programName, name: this.#options.name }
    return this.#modes && decidesAloneNotice(this.#modes, names)
  }

  /** Continues an earlier session, or starts a new one. `isLost`: the earlier one could not be continued. */
  async open(earlier: string | null): Promise<{ isLost: boolean }> {
    const reopened = earlier === null ? null : await this.#reopen(earlier)
    const session = reopened ?? (await this.#startNew())
    this.#sessionId = session.sessionId ?? earlier ?? ''
    this.#modes = modesOf(session)
    this.#initialMode = this.#modes?.current ?? ''
    this.#checkConfiguredMode()
    await this.#setModel(session)
    return { isLost: earlier !== null && !reopened }
  }

  /** If the agent refuses the mode, it keeps the one it has. `decidesAloneNotice` then says what that means. */
  async setMode(mode: PermissionMode): Promise<void> {
    const modes = this.#modes
    const configured = { configured: this.#options.mode, initial: this.#initialMode }
    const value = modes && modeFor(mode, modes, configured)
    if (!modes || value === null || modes.current === value) return
    const sessionId = this.#sessionId
    const { configId } = modes
    const set =
      configId === null
        ? this.#connection.request('session/set_mode', { sessionId, modeId: value })
        : this.#connection.request('session/set_config_option', { sessionId, configId, value })
    await set.then(
      () => this.#setCurrentMode(value),
      () => {},
    )
  }

  modeChanged(update: ModeUpdate): void {
    const current =
      update.sessionUpdate === 'current_mode_update'
        ? update.currentModeId
        : modeInOptions(update.configOptions)?.current
    if (current !== undefined) this.#setCurrentMode(current)
  }

  #setCurrentMode(current: string): void {
    if (this.#modes) this.#modes = { ...this.#modes, current }
  }

  #checkConfiguredMode(): void {
    const { mode, name } = this.#options
    const offered = this.#modes?.offered.map(({ id }) => id) ?? []
    if (mode === undefined || offered.includes(mode)) return
    const available = offered.length === 0 ? 'it has none' : `it has ${offered.join(', ')}`
    throw new AskbackError(
      'unavailable',
      `${name} has no mode “${mode}”: ${available}. Correct its configuration.`,
    )
  }

  async #startNew(): Promise<OpenedSession> {
    try {
      return await this.#connection.request<OpenedSession>('session/new', this.#params)
    } catch (error) {
      if (!(error instanceof JsonRpcError) || error.code !== AUTH_REQUIRED) throw error
      throw new AskbackError('unavailable', this.#loginHint(), { cause: error })
    }
  }

  #loginHint(): string {
    const ways = this.#authMethods.map(({ id, name, description }) => {
      const title = name ?? id
      return description ? `${title} (${description})` : title
    })
    const hint = ways.length === 0 ? '' : ` It offers: ${ways.join('; ')}.`
    return `${this.#options.name} is not logged in. Run it in a terminal and log in there, or set its key in the environment of Askback.${hint}`
  }

  async #setModel(session: OpenedSession): Promise<void> {
    const { model, name } = this.#options
    if (model === undefined) return
    const setting = modelSettingOf(session)
    if (setting?.current === model) return
    if (!setting?.offered.includes(model)) {
      const offered =
        setting === null ? 'it does not let clients choose' : `it has ${setting.offered.join(', ')}`
      throw new AskbackError('unavailable', `${name} has no model “${model}”: ${offered}.`)
    }
    const sessionId = this.#sessionId
    const { configId } = setting
    if (configId === null) await this.#connection.request('session/set_model', { sessionId, modelId: model })
    else await this.#connection.request('session/set_config_option', { sessionId, configId, value: model })
  }

  /** `null` if the agent cannot reopen sessions, or does not know this one any more. */
  async #reopen(sessionId: string): Promise<OpenedSession | null> {
    const { loadSession, sessionCapabilities } = this.#capabilities
    const method = sessionCapabilities?.resume ? 'session/resume' : loadSession ? 'session/load' : null
    if (method === null) return null
    this.#isReplaying = true
    try {
      const params = { sessionId, ...this.#params }
      const opened = await this.#connection.request<OpenedSession | null>(method, params)
      return { ...opened, sessionId }
    } catch {
      return null
    } finally {
      await this.#connection.notificationsHandled
      this.#isReplaying = false
    }
  }
}
