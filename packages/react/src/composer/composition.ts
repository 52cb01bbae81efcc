import type { Client, Routed } from '@askback/client'
import { asAskbackError, type AskbackError } from '@askback/protocol'
import { kept } from '../kept.js'
import { isAim, type Aim } from './aim.js'

interface Draft {
  text: string
  /** What it was begun for; `null` where nothing was chosen yet. */
  aim: Aim | null
}

interface Written extends Draft {
  isSending: boolean
  error: AskbackError | null
}

/**
 * What somebody writes to a session. It outlives the field: who leaves while it is on its way, and comes back, must not find
 * it there to be sent again.
 */
class Composition {
  readonly #key: string
  readonly #listeners = new Set<() => void>()
  /** What is kept there as far as is known here: it may not be what was written, where nothing can be kept. */
  #kept: string | null
  #written: Written

  constructor(sessionId: string) {
    this.#key = `composer.${sessionId}`
    this.#kept = kept.read(this.#key)
    this.#written = { ...draftIn(this.#kept), isSending: false, error: null }
  }

  readonly getSnapshot = (): Written => this.#written

  readonly subscribe = (listener: () => void): (() => void) => {
    if (this.#listeners.size === 0) this.#lookAgain()
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** `begunFor` counts for the first letter, and for a text that has no aim yet. */
  setText(text: string, begunFor: Aim | null): void {
    const begun = this.#written.text === '' ? null : this.#written.aim
    this.#write({ text, aim: begun ?? begunFor })
  }

  aim(aim: Aim): void {
    if (this.#written.text !== '') this.#write({ text: this.#written.text, aim })
  }

  /** Once the gateway is back, that it could not be reached is no news. */
  readonly forgetOutage = (): void => {
    if (this.#written.error?.code === 'unavailable') this.#change({ error: null })
  }

  /** Resolves to `null` if there is nothing to send, or it failed. */
  async send(post: (text: string) => Promise<Routed>): Promise<Routed | null> {
    const { text, isSending } = this.#written
    if (text.trim() === '' || isSending) return null
    this.#change({ isSending: true, error: null })
    try {
      const routed = await post(text)
      this.#write({ text: unsent(this.#written.text, text), aim: this.#written.aim })
      return routed
    } catch (error) {
      this.#change({ error: asAskbackError(error) })
      return null
    } finally {
      this.#change({ isSending: false })
    }
  }

  /** Another window may have sent it, or gone on with it, while nobody looked here. */
  #lookAgain(): void {
    const now = kept.read(this.#key)
    if (this.#written.isSending || now === this.#kept) return
    this.#kept = now
    this.#change({ ...draftIn(now), error: null })
  }

  #write(draft: Draft): void {
    kept.write(this.#key, draft.text === '' ? null : JSON.stringify(draft))
    this.#kept = kept.read(this.#key)
    this.#change({ ...draft, error: null })
  }

  #change(change: Partial<Written>): void {
    this.#written = { ...this.#written, ...change }
    for (const listener of this.#listeners) listener()
  }
}

function draftIn(entry: string | null): Draft {
  try {
    const { text, aim } = JSON.parse(entry ?? '{}') as Partial<Record<keyof Draft, unknown>>
    if (typeof text === 'string' && (aim === null || isAim(aim))) return { text, aim }
  } catch {
    // Not ours.
  }
  return { text: '', aim: null }
}

/** What was typed while it was on its way stays. */
function unsent(now: string, sent: string): string {
  return now.startsWith(sent) ? now.slice(sent.length) : now
}

const compositions = new WeakMap<Client, Map<string, Composition>>()

export function compositionOf(client: Client, sessionId: string): Composition {
  let ofClient = compositions.get(client)
  if (!ofClient) compositions.set(client, (ofClient = new Map<string, Composition>()))
  let composition = ofClient.get(sessionId)
  if (!composition) ofClient.set(sessionId, (composition = new Composition(sessionId)))
  return composition
}
