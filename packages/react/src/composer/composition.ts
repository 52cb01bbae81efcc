import type { Client, MessageRoute } from '@askback/client'
import { asAskbackError, type AskbackError } from '@askback/protocol'
import { browserStorage } from '../local-storage.js'
import { isComposerRoute, type ComposerRoute } from './text-route.js'

interface ComposerDraft {
  text: string
  /** The route for which the text was begun; `null` if the person has not chosen one yet. */
  route: ComposerRoute | null
}

interface CompositionState extends ComposerDraft {
  isSending: boolean
  error: AskbackError | null
}

/**
 * The text that a person writes to one session, with its route. It outlives the component of the composer: a person who
 * leaves the page while the text is being sent, and comes back, must not find it there to be sent a second time. The
 * text is stored in `localStorage`, where another window may change or remove it.
 */
class Composition {
  readonly #key: string
  readonly #listeners = new Set<() => void>()
  /** The stored entry when it was last read or written. It differs from `#state` where storage is full or forbidden. */
  #stored: string | null
  #state: CompositionState

  constructor(sessionId: string) {
    this.#key = `composer.${sessionId}`
    this.#stored = browserStorage.read(this.#key)
    this.#state = { ...parseDraft(this.#stored), isSending: false, error: null }
  }

  readonly getSnapshot = (): CompositionState => this.#state

  readonly subscribe = (listener: () => void): (() => void) => {
    if (this.#listeners.size === 0) this.#readChangesOfOtherWindows()
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** `routeIfNew` is used for the first character of a text, and while the text has no route. */
  setText(text: string, routeIfNew: ComposerRoute | null): void {
    const begunFor = this.#state.text === '' ? null : this.#state.route
    this.#setDraft({ text, route: begunFor ?? routeIfNew })
  }

  setRoute(route: ComposerRoute): void {
    if (this.#state.text !== '') this.#setDraft({ text: this.#state.text, route })
  }

  /** Removes the error that the gateway could not be reached, once it can be reached again. */
  readonly clearOutageError = (): void => {
    if (this.#state.error?.code === 'unavailable') this.#change({ error: null })
  }

  /** Resolves to `null` if there is nothing to send, or if sending failed; `error` then says why. */
  async send(post: (text: string) => Promise<MessageRoute>): Promise<MessageRoute | null> {
    const { text, isSending } = this.#state
    if (text.trim() === '' || isSending) return null
    this.#change({ isSending: true, error: null })
    try {
      const routed = await post(text)
      this.#setDraft({ text: withoutSent(this.#state.text, text), route: this.#state.route })
      return routed
    } catch (error) {
      this.#change({ error: asAskbackError(error) })
      return null
    } finally {
      this.#change({ isSending: false })
    }
  }

  /** Another window may have sent or changed the text while no component was mounted here. */
  #readChangesOfOtherWindows(): void {
    const now = browserStorage.read(this.#key)
    if (this.#state.isSending || now === this.#stored) return
    this.#stored = now
    this.#change({ ...parseDraft(now), error: null })
  }

  #setDraft(draft: ComposerDraft): void {
    browserStorage.write(this.#key, draft.text === '' ? null : JSON.stringify(draft))
    this.#stored = browserStorage.read(this.#key)
    this.#change({ ...draft, error: null })
  }

  #change(change: Partial<CompositionState>): void {
    this.#state = { ...this.#state, ...change }
    for (const listener of this.#listeners) listener()
  }
}

function parseDraft(entry: string | null): ComposerDraft {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- may be any JSON: the fields are checked below
    const { text, route } = JSON.parse(entry ?? '{}') as Partial<Record<keyof ComposerDraft, unknown>>
    if (typeof text === 'string' && (route === null || isComposerRoute(route))) return { text, route }
  } catch {
    // The entry was not written by this app, so it is ignored.
  }
  return { text: '', route: null }
}

/** Keeps what was typed while the text was being sent. */
function withoutSent(now: string, sent: string): string {
  return now.startsWith(sent) ? now.slice(sent.length) : now
}

const compositions = new WeakMap<Client, Map<string, Composition>>()

/** The one composition of a session in this page, created when it is first needed. */
export function compositionOf(client: Client, sessionId: string): Composition {
  let ofClient = compositions.get(client)
  if (!ofClient) compositions.set(client, (ofClient = new Map<string, Composition>()))
  let composition = ofClient.get(sessionId)
  if (!composition) ofClient.set(sessionId, (composition = new Composition(sessionId)))
  return composition
}
