import type { Clock } from '@askback/core'
import type { Actor } from '@askback/protocol'
import { hashOf } from './credential.js'

const LIFETIME_MS = 10 * 60_000

/** One-time codes that log a browser in, so that no token has to stand in an address. They end with the process. */
export class LoginCodes {
  readonly #clock: Clock
  readonly #codes = new Map<string, { by: Actor; expiresAt: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  keep(code: string, by: Actor): void {
    const now = this.#clock.now()
    for (const [key, { expiresAt }] of this.#codes) if (expiresAt <= now) this.#codes.delete(key)
    this.#codes.set(hashOf(code), { by, expiresAt: now + LIFETIME_MS })
  }

  /** Whom it would log in. It stays unused. */
  peek(code: string): Actor | null {
    const found = this.#codes.get(hashOf(code))
    return found && this.#clock.now() < found.expiresAt ? found.by : null
  }

  /** Whom it logs in, if it is one of ours, in time, and used for the first time. */
  redeem(code: string): Actor | null {
    const by = this.peek(code)
    this.#codes.delete(hashOf(code))
    return by
  }

  revoke(personId: string): void {
    for (const [key, { by }] of this.#codes) if (by.id === personId) this.#codes.delete(key)
  }
}
