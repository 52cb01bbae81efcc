import { AskbackError, spellOutLine, type Interaction, type Json } from '@askback/protocol'
import type { Connector, ConnectorDesk } from './connector.js'
import { freshView, type Card, type CardView, type ClosedCard } from './connector-card.js'
import { bodyOf, outcomeOf, saidOf, stepOf } from './connector-flow.js'
import type { CardRecord, ConnectorRecords } from './connector-records.js'

export interface ConnectorCardsOptions {
  connector: Connector
  desk: ConnectorDesk
  records: ConnectorRecords
  newId: () => string
}

/** Makes a surface show what is so: asked again it does nothing, so a lost or repeated doorbell costs nothing. */
export class ConnectorCards {
  readonly #options: ConnectorCardsOptions

  constructor(options: ConnectorCardsOptions) {
    this.#options = options
  }

  async reconcile(sessionId: string, interactionId: string, place: string): Promise<void> {
    const { records } = this.#options
    const record = records.card(interactionId, place)
    const item = await this.find(sessionId, interactionId)
    if (!records.place(place)) return record && this.#withdraw(record, item)
    if (!item || item.status === 'settled') return record && this.#settle(record, item)
    if (!record) return this.#show(item, place, freshView)
    if (stepOf(item, record.view) !== record.step) return this.#nextStep(record, item)
    if (record.shown === null) return this.#draw(record, item)
    if (!record.drawn) await this.#update(record, item, record.shown)
  }

  /** Once more at the end of the chat: what stood further up loses its controls. */
  async showAgain(record: CardRecord): Promise<void> {
    const { connector, records } = this.#options
    const item = await this.find(record.sessionId, record.interactionId)
    if (item?.status !== 'pending')
      return this.reconcile(record.sessionId, record.interactionId, record.place)
    if (record.shown !== null) {
      const closed = await this.#closed(record, item, 'Shown again below.', 'step')
      await connector.close(record.place, record.shown, closed)
    }
    const again = { ...(this.#latest(record) ?? record), shown: null }
    await records.save(again)
    await this.#draw(again, item)
  }

  /** `null` if its session was deleted. */
  async find(sessionId: string, interactionId: string): Promise<Interaction | null> {
    try {
      return await this.#options.desk.interaction(sessionId, interactionId)
    } catch (error) {
      if (error instanceof AskbackError && error.code === 'not_found') return null
      throw error
    }
  }

  async #show(item: Interaction, place: string, view: CardView): Promise<void> {
    const { records, newId } = this.#options
    const record: CardRecord = {
      cardId: newId(),
      sessionId: item.sessionId,
      interactionId: item.interactionId,
      place,
      kind: item.kind,
      digest: item.digest,
      step: stepOf(item, view),
      view,
      shown: null,
      drawn: true,
      order: records.nextOrder(),
    }
    // First: whoever taps at once must be known, and a crash must not make it another card.
    await records.save(record)
    await this.#draw(record, item)
  }

  async #draw(record: CardRecord, item: Interaction): Promise<void> {
    const { connector, records } = this.#options
    const shown = await connector.show(record.place, await this.#card(record, item))
    const latest = this.#latest(record)
    if (latest) await records.save({ ...latest, shown, drawn: latest.view === record.view })
  }

  async #update(record: CardRecord, item: Interaction, before: Json): Promise<void> {
    const { connector, records } = this.#options
    const shown = await connector.update(record.place, before, await this.#card(record, item))
    const latest = this.#latest(record)
    if (latest) await records.save({ ...latest, shown, drawn: latest.view === record.view })
  }

  async #nextStep(record: CardRecord, item: Interaction): Promise<void> {
    const said = saidOf(item, record.view, record.step)
    await this.#take(record, item, said ? `Answered: ${said}` : 'Answered.', 'step')
    await this.#show(item, record.place, { ...freshView, values: record.view.values })
  }

  async #settle(record: CardRecord, item: Interaction | null): Promise<void> {
    const { connector, records } = this.#options
    const settlement = item?.settlement ?? 'cancelled'
    const outcome = item ? outcomeOf(item, record.view) : 'The session was deleted.'
    const { asking } = record.view
    if (asking && !records.answering.has(record.cardId))
      records.setLapse(record.place, { by: asking.by, outcome })
    await this.#take(record, item, outcome, settlement)
    // Nobody is told of a message that was only edited, and somebody may count on it.
    if (settlement === 'timed_out' || settlement === 'cancelled') {
      const [title] = item ? [bodyOf(item, freshView).title] : ['']
      await connector.say(record.place, `${title ? `${title} ` : ''}${outcome}`)
    }
    await records.forget(record)
  }

  /** Its place is gone, and learns nothing more: not even how it came out. */
  async #withdraw(record: CardRecord, item: Interaction | null): Promise<void> {
    await this.#options.records.forget(record)
    await this.#take(record, item, 'This is no longer shown here.', 'step')
  }

  async #take(
    record: CardRecord,
    item: Interaction | null,
    outcome: string,
    settlement: ClosedCard['settlement'],
  ): Promise<void> {
    if (record.shown === null) return
    const closed = await this.#closed(record, item, outcome, settlement)
    await this.#options.connector.close(record.place, record.shown, closed)
  }

  async #closed(
    record: CardRecord,
    item: Interaction | null,
    outcome: string,
    settlement: ClosedCard['settlement'],
  ): Promise<ClosedCard> {
    const empty = { title: 'A request', parts: [], controls: [], asks: null }
    const asked = item && asOf(item, record.step)
    const card = asked
      ? await this.#card({ ...record, view: viewOf(record) }, asked)
      : { ...empty, ...idsOf(record), kind: '', from: '' }
    return { card: { ...card, controls: [], asks: null }, outcome, settlement }
  }

  async #card(record: CardRecord, item: Interaction): Promise<Card> {
    const { kind, expiresAt } = item
    const session = await this.#options.desk.session(record.sessionId)
    return {
      ...bodyOf(item, record.view),
      ...idsOf(record),
      kind,
      from: spellOutLine(session?.title ?? session?.agent ?? record.sessionId, 'prose'),
      ...(expiresAt !== undefined && { expiresAt }),
    }
  }

  /** As it is now, unless it was closed meanwhile. */
  #latest(record: CardRecord): CardRecord | undefined {
    const latest = this.#options.records.card(record.interactionId, record.place)
    return latest?.cardId === record.cardId ? latest : undefined
  }
}

function idsOf({ cardId, sessionId, interactionId }: CardRecord) {
  return { cardId, sessionId, interactionId }
}

/** The question as it was asked at that step. */
export function asOf(item: Interaction, step: number): Interaction {
  if (item.kind !== 'question' || !Array.isArray(item.progress)) return item
  return { ...item, progress: item.progress.slice(0, step) }
}

function viewOf({ view, step }: CardRecord): CardView {
  return { ...freshView, values: view.values.slice(0, step) }
}
