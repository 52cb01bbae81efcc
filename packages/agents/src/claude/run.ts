import { randomUUID } from 'node:crypto'
import type { PermissionMode } from '@askback/protocol'
import { AgentChild } from '../program/child.js'
import type { ClaudeHooks } from './hooks.js'
import { InputQueue } from './input-queue.js'
import type { ClaudeQuery, ClaudeSdk, QueryOptions, SdkMode, Uuid } from './sdk.js'

const FINISH_MS = 3000

/**
 * Plan mode is a way to work, so the agent must know of it. All other modes only say who decides, and that is for the
 * desk: in its own `acceptEdits` or `bypassPermissions` the agent would neither ask nor leave a trace, and as root it
 * would refuse to start.
 */
export function sdkMode(mode: PermissionMode): SdkMode {
  return mode === 'plan' ? 'plan' : 'default'
}

/** Messages with their ids. */
export type Mail = [Uuid, string][]

/** One process of the agent's program, with one conversation. */
export class ClaudeRun {
  readonly query: ClaudeQuery
  readonly #input = new InputQueue()
  readonly #waiting = new Map<string, Mail[number]>()
  #child: AgentChild | null = null
  #mode: SdkMode
  /** It may be told to end before it was started. */
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
        // A person chooses the mode, and the agent says what it has taken up of what it was sent.
        disallowedTools: ['EnterPlanMode'],
        extraArgs: { 'replay-user-messages': null },
        spawnClaudeCodeProcess: (request) => {
          if (this.#isKilled) throw new Error('The session was stopped.')
          this.#child = new AgentChild(request)
          return this.#child.process
        },
      },
    })
  }

  /** Gives the message's id, under which the agent takes it up. */
  send(text: string, uuid: Uuid = randomUUID()): Uuid {
    this.#waiting.set(uuid, [uuid, text])
    this.#input.push({
      type: 'user',
      message: { role: 'user', content: text },
      parent_tool_use_id: null,
      uuid,
    })
    return uuid
  }

  /** The agent has taken up this message. */
  taken(uuid: string): void {
    this.#waiting.delete(uuid)
  }

  /** Whether it has been sent something that it has not taken up. */
  get hasMail(): boolean {
    return this.#waiting.size > 0
  }

  /** What it has been sent and has not taken up. */
  get mail(): Mail {
    return [...this.#waiting.values()]
  }

  get complaint(): string {
    return this.#child?.complaint ?? ''
  }

  async interrupt(): Promise<void> {
    this.#waiting.clear()
    await this.query.interrupt()
  }

  async setMode(mode: SdkMode): Promise<void> {
    if (mode === this.#mode) return
    this.#mode = mode
    await this.query.setPermissionMode(mode)
  }

  /** Lets it end by itself, with its conversation written down. */
  async finish(): Promise<void> {
    this.#child?.finish()
    this.#input.close()
    const timer = setTimeout(() => void this.kill(), FINISH_MS)
    await this.#child?.gone
    clearTimeout(timer)
  }

  async kill(): Promise<void> {
    this.#isKilled = true
    this.#input.close()
    await this.#child?.kill()
  }
}
