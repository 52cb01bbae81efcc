import { AskbackError, isBuiltInKind, type Json, type SettlementKind } from '@askback/protocol'
import {
  EMPTY_VIEW,
  oneLine,
  type CardInteraction,
  type CardView,
  type ClosedCard,
  type TextCard,
} from '../cards/card.js'
import { answerText, bodyOf, outcomeText, stepOf } from '../cards/cards.js'
import type { Connector } from './connector.js'
import type { ConnectorDesk } from './connector-desk.js'
import type { CardRecord, CardRecords } from './card-records.js'

/** Behind the name of a session whose agent acts without asking. */
const DECIDES_ALONE = ' (acts without asking)'

/** Chats do not notify anybody of an edited message, so a request that ended without an answer is also announced. */
const IS_ANNOUNCED: Record<SettlementKind, boolean> = {
  answered: false,
  approved: false,
  denied: false,
  cancelled: true,
  timed_out: true,
  // The newer request is announced.
  superseded: false,
}

export interface CardDisplayOptions {
  connector: Connector
  desk: ConnectorDesk
  records: CardRecords
  newId: () => string
}

/**
 * Makes a surface show the current state of an interaction. `reconcile` compares what is recorded as shown with what the log
 * says and does only what is missing, so calling it too often is harmless. Its states, for one interaction at one place:
 *
 *     no card ── show ──▶ shown ── changed ──▶ update ──▶ shown
 *                           │
 *                           ├── next question ──▶ close as "step", show the next card
 *                           └── settled, erased or place removed ──▶ close, forget
 */
export class CardDisplay {
  readonly #options: CardDisplayOptions

  constructor(options: CardDisplayOptions) {
    this.#options = options
  }

  async reconcile(sessionId: string, interactionId: string, place: string): Promise<void> {
    const { records } = this.#options
    const record = records.card(interactionId, place)
    const interaction = await this.find(sessionId, interactionId)
    if (!records.place(place)) return record && this.#withdraw(record, interaction)
    if (!interaction || interaction.status === 'settled') return record && this.#settle(record, interaction)
    if (!record) return this.#showNew(interaction, place, EMPTY_VIEW)
    if (stepOf(interaction, record.view) !== record.step) return this.#showNextStep(record, interaction)
    if (record.shown === null) return this.#draw(record, interaction, null)
    if (!record.drawn) await this.#draw(record, interaction, record.shown)
  }

  /** Shows a card once more at the end of the chat. The old copy loses its controls. */
  async showAgain(record: CardRecord): Promise<void> {
    const { connector, records } = this.#options
    const interaction = await this.find(record.sessionId, record.interactionId)
    if (interaction?.status !== 'pending')
      return this.reconcile(record.sessionId, record.interactionId, record.place)
    if (record.shown !== null) {
      const closed = await this.#closedCard(record, interaction, 'Shown again below.', 'step')
      await connector.close(record.place, record.shown, closed)
    }
    const again = { ...(this.#latest(record) ?? record), shown: null }
    await records.save(again)
    await this.#draw(again, interaction, null)
  }

  /** `null` if the session was deleted. */
  async find(sessionId: string, interactionId: string): Promise<CardInteraction | null> {
    const { desk } = this.#options
    try {
      const interaction = await desk.interaction(sessionId, interactionId)
      if (isBuiltInKind(interaction.kind)) return interaction
      return { ...interaction, prompt: await desk.prompt(sessionId, interactionId) }
    } catch (error) {
      if (error instanceof AskbackError && error.code === 'not_found') return null
      throw error
    }
  }

  async #showNew(interaction: CardInteraction, place: string, view: CardView): Promise<void> {
    const { records, newId } = this.#options
    const record: CardRecord = {
      cardId: newId(),
      sessionId: interaction.sessionId,
      interactionId: interaction.interactionId,
      place,
      kind: interaction.kind,
      digest: interaction.digest,
      step: stepOf(interaction, view),
      view,
      shown: null,
      drawn: true,
      order: records.nextOrder(),
    }
    // Saved before it is shown: a fast tap must find the record, and after a crash the card must keep its id.
    await records.save(record)
    await this.#draw(record, interaction, null)
  }

  /** Shows a new card, or updates the one that `shown` refers to. */
  async #draw(record: CardRecord, interaction: CardInteraction, shown: Json | null): Promise<void> {
    const { connector, records } = this.#options
    const card = await this.#card(record, interaction)
    const reference =
      shown === null
        ? await connector.show(record.place, card)
        : await connector.update(record.place, shown, card)
    const latest = this.#latest(record)
    if (latest) await records.save({ ...latest, shown: reference, drawn: latest.view === record.view })
  }

  async #showNextStep(record: CardRecord, interaction: CardInteraction): Promise<void> {
    const answer = answerText(interaction, record.view, record.step)
    const isRestarted = stepOf(interaction, record.view) < record.step
    const outcome = isRestarted ? 'Started over.' : answer ? `Answered: ${answer}` : 'Answered.'
    await this.#close(record, interaction, outcome, 'step')
    await this.#showNew(interaction, record.place, { ...EMPTY_VIEW, values: record.view.values })
  }

  async #settle(record: CardRecord, interaction: CardInteraction | null): Promise<void> {
    const { connector, desk, records } = this.#options
    // It may still be pending elsewhere, so it is not said to be cancelled.
    if (!interaction && desk.isPartial) return this.#withdraw(record, null)
    const settlement = interaction?.settlement ?? 'cancelled'
    const outcome = interaction ? outcomeText(interaction, record.view) : 'The session was deleted.'
    const { asking } = record.view
    if (asking && !records.answering.has(record.cardId))
      records.setMissedText(record.place, { by: asking.by, outcome })
    await this.#close(record, interaction, outcome, settlement)
    if (IS_ANNOUNCED[settlement]) {
      const title = interaction ? `${bodyOf(interaction, EMPTY_VIEW).title} ` : ''
      await connector.say(record.place, `${title}${outcome}`)
    }
    await records.remove(record)
  }

  /** The place was removed. It may have lost its access, so its cards do not show how the interaction ends. */
  async #withdraw(record: CardRecord, interaction: CardInteraction | null): Promise<void> {
    await this.#options.records.remove(record)
    await this.#close(record, interaction, 'This is no longer shown here.', 'step')
  }

  async #close(
    record: CardRecord,
    interaction: CardInteraction | null,
    outcome: string,
    settlement: ClosedCard['settlement'],
  ): Promise<void> {
    if (record.shown === null) return
    const closed = await this.#closedCard(record, interaction, outcome, settlement)
    await this.#options.connector.close(record.place, record.shown, closed)
  }

  async #closedCard(
    record: CardRecord,
    interaction: CardInteraction | null,
    outcome: string,
    settlement: ClosedCard['settlement'],
  ): Promise<ClosedCard> {
    const asked = interaction && atStep(interaction, record.step)
    const view = { ...EMPTY_VIEW, values: record.view.values.slice(0, record.step) }
    const card = asked
      ? await this.#card({ ...record, view }, asked)
      : { title: 'A request', parts: [], kind: '', from: '', ...idsOf(record) }
    return { card: { ...card, controls: [], asks: null }, outcome, settlement }
  }

  async #card(record: CardRecord, interaction: CardInteraction): Promise<TextCard> {
    const { kind, expiresAt } = interaction
    const session = await this.#options.desk.session(record.sessionId)
    return {
      ...bodyOf(interaction, record.view),
      ...idsOf(record),
      kind,
      from: `${oneLine(session?.title ?? session?.agent ?? record.sessionId)}${session?.decidesAlone ? DECIDES_ALONE : ''}`,
      ...(expiresAt !== undefined && { expiresAt }),
    }
  }

  /** The record as it is now; `undefined` if the card was closed in the meantime. */
  #latest(record: CardRecord): CardRecord | undefined {
    const latest = this.#options.records.card(record.interactionId, record.place)
    return latest?.cardId === record.cardId ? latest : undefined
  }
}

function idsOf({ cardId, sessionId, interactionId }: CardRecord) {
  return { cardId, sessionId, interactionId }
}

/** The interaction as it was when a card of this step was shown: without the replies that came later. */
export function atStep(interaction: CardInteraction, step: number): CardInteraction {
  if (interaction.kind !== 'question' || !Array.isArray(interaction.progress)) return interaction
  return { ...interaction, progress: interaction.progress.slice(0, step) }
}
