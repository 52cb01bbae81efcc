import { randomUUID } from 'node:crypto'
import { AsyncQueue, type PermissionMode } from '@askback/protocol'
import { ChildProgram } from '../program/child-program.js'
import type { ClaudeHooks } from './hooks.js'
import type { ClaudeQuery, ClaudeSdk, QueryOptions, SdkMode, UserInput, Uuid } from './sdk.js'

/** How long Claude Code may take to write down its conversation and end. */
const FINISH_TIMEOUT_MS = 3000

/** A message that was sent to Claude Code, which it has not accepted yet. */
export interface UnacceptedMessage {
  id: Uuid
  text: string
}

/**
 * Plan mode changes how the agent works, so the agent must know of it. The other modes only say who decides, which the desk
 * does: in its own `acceptEdits` or `bypassPermissions` Claude Code would neither ask nor leave a trace, and as root it would
 * refuse to start.
 */
export function sdkMode(mode: PermissionMode): SdkMode {
  return mode === 'plan' ? 'plan' : 'default'
}

/** One process of Claude Code, which holds one conversation. */
export class ClaudeProgram {
  readonly query: ClaudeQuery
  /** The SDK reads it as long as the process runs. */
  readonly #input = new AsyncQueue<UserInput>()
  readonly #unaccepted = new Map<string, UnacceptedMessage>()
  #child: ChildProgram | null = null
  #mode: SdkMode
  #isKilled = false

  constructor(sdk: ClaudeSdk, options: QueryOptions & { permissionMode: SdkMode }, hooks: ClaudeHooks) {
    this.#mode = options.permissionMode
    this.query = sdk.query({
      prompt: this.#input,
      options: {
        ...options,
        ...hooks,
        includePartialMessages: true,
        settings: { useAutoModeDuringPlan: false },
        // Only a person chooses the mode.
        disallowedTools: ['EnterPlanMode'],
        // Claude Code repeats each message that it accepts, with the message's id.
        extraArgs: { 'replay-user-messages': null },
        spawnClaudeCodeProcess: (request) => {
          // The SDK starts the process some time after `query`.
          if (this.#isKilled) throw new Error('The session was stopped.')
          this.#child = new ChildProgram(request)
          return this.#child.process
        },
      },
    })
  }

  /** Returns the id with which Claude Code will accept the message. */
  send(text: string, id: Uuid = randomUUID()): Uuid {
    this.#unaccepted.set(id, { id, text })
    this.#input.push({
      type: 'user',
      message: { role: 'user', content: text },
      parent_tool_use_id: null,
      uuid: id,
    })
    return id
  }

  messageAccepted(id: string): void {
    this.#unaccepted.delete(id)
  }

  get hasUnaccepted(): boolean {
    return this.#unaccepted.size > 0
  }

  get unaccepted(): UnacceptedMessage[] {
    return [...this.#unaccepted.values()]
  }

  get stderr(): string {
    return this.#child?.stderr ?? ''
  }

  async interrupt(): Promise<void> {
    this.#unaccepted.clear()
    await this.query.interrupt()
  }

  async setMode(mode: SdkMode): Promise<void> {
    if (mode === this.#mode) return
    this.#mode = mode
    await this.query.setPermissionMode(mode)
  }

  /** Closes its input, and kills it if it does not end in time. */
  async finish(): Promise<void> {
    this.#child?.finish()
    this.#input.end()
    const timer = setTimeout(() => void this.kill(), FINISH_TIMEOUT_MS)
    await this.#child?.exited
    clearTimeout(timer)
  }

  async kill(): Promise<void> {
    this.#isKilled = true
    this.#input.end()
    await this.#child?.kill()
  }
}
