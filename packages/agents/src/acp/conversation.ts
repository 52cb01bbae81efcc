import type { PermissionMode } from '@askback/protocol'
import type { Peer } from '../program/peer.js'
import type { Initialized, OpenedSession } from './protocol.js'

/** The agent's own session. */
export class Conversation {
  readonly #peer: Peer
  readonly #can: NonNullable<Initialized['agentCapabilities']>
  readonly #place: { cwd: string; mcpServers: [] }
  #sessionId = ''
  #modes: OpenedSession['modes'] = null
  #isReplaying = false

  constructor(peer: Peer, { agentCapabilities = {} }: Initialized, cwd: string) {
    this.#peer = peer
    this.#can = agentCapabilities
    this.#place = { cwd, mcpServers: [] }
  }

  get sessionId(): string {
    return this.#sessionId
  }

  /** Whether it tells everything once more that the log has already. */
  get isReplaying(): boolean {
    return this.#isReplaying
  }

  /** Goes on with an earlier session, or makes one. `isLost`: the earlier one is not to be had any more. */
  async open(before: string | null): Promise<{ isLost: boolean }> {
    const opened = before === null ? null : await this.#reopen(before)
    const session = opened ?? (await this.#peer.request<OpenedSession>('session/new', this.#place))
    this.#sessionId = session.sessionId ?? before ?? ''
    this.#modes = session.modes ?? null
    return { isLost: before !== null && !opened }
  }

  /** Plan mode is a way to work, so the agent must know of it; all other modes only say who decides. */
  async setMode(mode: PermissionMode): Promise<void> {
    const modeId = mode === 'plan' ? 'plan' : 'default'
    const isThere = this.#modes?.availableModes.some(({ id }) => id === modeId)
    if (!this.#modes || !isThere || this.#modes.currentModeId === modeId) return
    this.#modes = { ...this.#modes, currentModeId: modeId }
    await this.#peer.request('session/set_mode', { sessionId: this.#sessionId, modeId }).catch(() => {})
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
