import { AskbackError, canonicalJson, interactionInError, type Actor, type Json } from '@askback/protocol'
import {
  EMPTY_VIEW,
  oneLine,
  prose,
  type CardAction,
  type CardInput,
  type CardInteraction,
} from '../cards/card.js'
import { bodyOf, handleInput, outcomeText, stepOf } from '../cards/cards.js'
import { atStep, type CardDisplay } from './card-display.js'
import type { CardRecord, CardRecords } from './card-records.js'
import type { Connector, ConnectorContext, InputResult } from './connector.js'
import type { ConnectorDesk, PersonActions } from './connector-desk.js'
import { textTarget } from './text-routing.js'

export interface CardInputsOptions {
  connector: Connector
  desk: ConnectorDesk
  records: CardRecords
  display: CardDisplay
  /** Draws a card again, which may look different now. */
  refresh: (record: CardRecord) => void
}

/** Who sent an input, and the idempotency key that it came with. */
interface Sender {
  by: Actor
  key?: string | undefined
}

interface RoutedMessage extends Sender {
  place: string
  sessionId: string
  text: string
  interactionId?: string
  questionIndex?: number | undefined
  route?: 'agent' | undefined
}

const NOT_OPEN = 'This is no longer open.'

/**
 * Turns taps and texts of people into calls of the desk, and each result into a sentence for them. Inputs to the same card
 * are handled one after the other, so that a second tap sees what the first one did.
 */
export class CardInputs {
  readonly #options: CardInputsOptions
  /** The last input of each card that is being handled. */
  readonly #lastInput = new Map<string, Promise<unknown>>()

  constructor(options: CardInputsOptions) {
    this.#options = options
  }

  tap({ place, cardId, control, by }: Parameters<ConnectorContext['tap']>[0]): Promise<InputResult> {
    return this.#inOrder(cardId, () => {
      const record = this.#options.records.byCardId(cardId)
      if (record?.place !== place) return result(false, NOT_OPEN)
      return this.#handle(record, { tap: control, by: by.id }, { by })
    })
  }

  async text(input: Parameters<ConnectorContext['text']>[0]): Promise<InputResult> {
    const { place, text, by, replyTo, route, key } = input
    const { records } = this.#options
    const giveTo = (record: CardRecord) =>
      this.#inOrder(record.cardId, () => this.#handle(record, { text, by: by.id }, { by, key }))
    if (replyTo !== undefined) {
      const named = records.byCardId(replyTo)
      return named?.place === place ? giveTo(named) : result(false, `${NOT_OPEN} Your text went nowhere.`)
    }
    const open = records.cardsAt(place)
    const asking = open.findLast(({ view }) => view.asking?.by === by.id)
    if (asking) return giveTo(asking)
    const missed = records.takeMissedText(place, by.id)
    if (missed) return result(false, wentNowhere(missed.outcome))
    const { current } = records.place(place) ?? {}
    if (route === 'agent' && current !== undefined)
      return this.#sendMessage({ place, sessionId: current, text, by, key, route })
    const target = textTarget(open, { by: by.id, current })
    switch (target.to) {
      case 'nobody':
        return result(false, target.reason)
      case 'card':
        return giveTo(target.record)
      case 'session':
        return this.#sendMessage({ place, sessionId: target.sessionId, text, by, key, route })
    }
  }

  async #handle(record: CardRecord, input: CardInput, sender: Sender): Promise<InputResult> {
    const { display, records, refresh } = this.#options
    const interaction = await display.find(record.sessionId, record.interactionId)
    if (interaction?.status !== 'pending') {
      refresh(record)
      const outcome = interaction ? outcomeText(interaction, record.view) : NOT_OPEN
      if (!('text' in input)) return result(false, outcome)
      // The person learns it now, so closing the card must not warn them once more at their next text.
      records.answering.add(record.cardId)
      records.takeMissedText(record.place, input.by)
      return result(false, wentNowhere(outcome))
    }
    const latest = records.card(record.interactionId, record.place)
    if (latest?.cardId !== record.cardId || stepOf(interaction, latest.view) !== latest.step) {
      refresh(record)
      return result(false, 'That question has been answered.')
    }
    const action = handleInput(interaction, latest.view, input)
    if (action.do === 'route') {
      return this.#sendMessage({
        ...sender,
        place: latest.place,
        sessionId: latest.sessionId,
        text: 'text' in input ? input.text : '',
        interactionId: latest.interactionId,
        questionIndex: interaction.kind === 'question' ? latest.step : undefined,
      })
    }
    return this.#perform(action, latest, interaction, sender.by)
  }

  async #perform(
    action: Exclude<CardAction, { do: 'route' }>,
    record: CardRecord,
    interaction: CardInteraction,
    by: Actor,
  ): Promise<InputResult> {
    const { records, refresh } = this.#options
    const { sessionId, interactionId, digest } = record
    const person = this.#person(by)
    switch (action.do) {
      case 'refuse':
        return result(false, action.message)
      case 'show':
        await records.save({ ...record, view: action.view, drawn: false })
        refresh(record)
        return result(true, action.message)
      case 'progress':
        return this.#attempt(record, null, async () => {
          await person.progress({ sessionId, interactionId, answers: action.answers })
          return 'Noted.'
        })
      case 'answer': {
        const { answer } = action
        records.answering.add(record.cardId)
        return this.#attempt(record, { answer, by }, async () => {
          await person.respond({ sessionId, interactionId, answer, digest })
          return `Thank you: ${quotedTitle(interaction, record)} is settled.`
        })
      }
    }
  }

  /** Sends a text as a message to a session. The desk's text routing decides what it answers, if anything. */
  async #sendMessage(message: RoutedMessage): Promise<InputResult> {
    const { display, records } = this.#options
    const { place, sessionId, text, by, key, interactionId, questionIndex, route } = message
    // Read before sending: the answer may replace a card by its next step, and the reply must name the one that was answered.
    const open = records.cardsAt(place)
    return this.#attempt(null, null, async () => {
      const { routed, interactionId: answered } = await this.#person(by).message({
        sessionId,
        text,
        ...(interactionId !== undefined && { interactionId }),
        ...(questionIndex !== undefined && { questionIndex }),
        ...(route !== undefined && { route }),
        idempotencyKey: key,
      })
      if (routed === 'agent') return `Sent to the agent: ${await this.#sessionName(sessionId)}.`
      if (routed === 'log')
        return `Saved as a note in the log of ${await this.#sessionName(sessionId)}. No agent reads it.`
      const interaction = answered === undefined ? null : await display.find(sessionId, answered)
      const record = open.find((each) => each.interactionId === answered)
      return interaction
        ? `Your text was taken for ${quotedTitle(interaction, record)}.`
        : 'Your text was taken as an answer.'
    })
  }

  /**
   * Turns errors that a person can cause, such as being too late, into results. `own` is the answer that `act` sends: if the
   * same person has already given the same answer, as with a double tap, that is a success.
   */
  async #attempt(
    record: CardRecord | null,
    own: { answer: Json; by: Actor } | null,
    act: () => Promise<string>,
  ): Promise<InputResult> {
    const { refresh, records } = this.#options
    try {
      const message = await act()
      if (record) refresh(record)
      return result(true, message)
    } catch (error) {
      if (!(error instanceof AskbackError) || error.code === 'internal') throw error
      if (record && error.code !== 'already_settled') records.answering.delete(record.cardId)
      if (record) refresh(record)
      const settled = error.code === 'already_settled' ? interactionInError(error) : null
      if (!settled) return result(false, error.message)
      const isOwn =
        own &&
        settled.by?.id === own.by.id &&
        canonicalJson(settled.answer ?? null) === canonicalJson(own.answer)
      return result(Boolean(isOwn), outcomeText(settled, record?.view ?? EMPTY_VIEW))
    }
  }

  #person(by: Actor): PersonActions {
    const { desk, connector } = this.#options
    return desk.as({ by, via: connector.via })
  }

  async #sessionName(sessionId: string): Promise<string> {
    const session = await this.#options.desk.session(sessionId)
    return oneLine(session?.title ?? session?.agent ?? sessionId)
  }

  #inOrder(cardId: string, act: () => Promise<InputResult> | InputResult): Promise<InputResult> {
    const before = this.#lastInput.get(cardId) ?? Promise.resolve()
    const current = before.then(act, act)
    this.#lastInput.set(cardId, current)
    const cleanUp = () => {
      if (this.#lastInput.get(cardId) === current) this.#lastInput.delete(cardId)
    }
    current.then(cleanUp, cleanUp)
    return current
  }
}

function wentNowhere(outcome: string): string {
  return `What you were writing for is settled: ${outcome} Your text went nowhere; send it again if it is for the agent.`
}

/** The title of the card that was answered, in quotes. */
function quotedTitle(interaction: CardInteraction, record: CardRecord | undefined): string {
  const { title } = record
    ? bodyOf(atStep(interaction, record.step), record.view)
    : bodyOf(interaction, EMPTY_VIEW)
  return `“${title}”`
}

function result(ok: boolean, text: string): InputResult {
  return { ok, text: prose(text) }
}
