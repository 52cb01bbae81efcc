import type { Client, Routed } from '@askback/client'
import { asAskbackError, type AskbackError } from '@askback/protocol'
import { kept } from '../kept.js'

interface Written {
  text: string
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
    this.#written = { text: this.#kept ?? '', isSending: false, error: null }
  }

  readonly getSnapshot = (): Written => this.#written

  readonly subscribe = (listener: () => void): (() => void) => {
    if (this.#listeners.size === 0) this.#lookAgain()
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readonly setText = (text: string): void => {
    kept.write(this.#key, text === '' ? null : text)
    this.#kept = kept.read(this.#key)
    this.#change({ text, error: null })
  }

  /** Resolves to `null` if there is nothing to send, or it failed. */
  async send(post: (text: string) => Promise<Routed>): Promise<Routed | null> {
    const { text, isSending } = this.#written
    if (text.trim() === '' || isSending) return null
    this.#change({ isSending: true, error: null })
    try {
      const routed = await post(text)
      this.setText(unsent(this.#written.text, text))
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
    this.#change({ text: now ?? '', error: null })
  }

  #change(change: Partial<Written>): void {
    this.#written = { ...this.#written, ...change }
    for (const listener of this.#listeners) listener()
  }
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
