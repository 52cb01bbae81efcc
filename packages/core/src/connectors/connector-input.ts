import {
  AskbackError,
  canonicalJson,
  interaction,
  spellOut,
  spellOutLine,
  type Actor,
  type Interaction,
  type Json,
} from '@askback/protocol'
import { optional } from '../optional.js'
import type { Connector, ConnectorDesk, ConnectorLine, Told } from './connector.js'
import { freshView, type CardInput, type CardStep } from './connector-card.js'
import { asOf, type ConnectorCards } from './connector-cards.js'
import { bodyOf, outcomeOf, stepOf, takeInput } from './connector-flow.js'
import type { CardRecord, ConnectorRecords } from './connector-records.js'
import { textTarget } from './connector-text-target.js'

export interface ConnectorInputOptions {
  connector: Connector
  desk: ConnectorDesk
  records: ConnectorRecords
  cards: ConnectorCards
  /** It may look different now. */
  refresh: (record: CardRecord) => void
}

const GONE = 'This is no longer open.'

/** What people do on a surface becomes calls of the desk, and what came of it is told in a sentence. */
export class ConnectorInput {
  readonly #options: ConnectorInputOptions
  readonly #turns = new Map<string, Promise<unknown>>()

  constructor(options: ConnectorInputOptions) {
    this.#options = options
  }

  tap({ place, cardId, control, by }: Parameters<ConnectorLine['tap']>[0]): Promise<Told> {
    return this.#inTurn(cardId, () => {
      const record = this.#options.records.byCardId(cardId)
      if (record?.place !== place) return told(false, GONE)
      return this.#give(record, { tap: control, by: by.id }, { by })
    })
  }

  async text({ place, text, by, replyTo, route, key }: Parameters<ConnectorLine['text']>[0]): Promise<Told> {
    const { records } = this.#options
    if (replyTo !== undefined) {
      const named = records.byCardId(replyTo)
      if (named?.place !== place) return told(false, `${GONE} Your text went nowhere.`)
      return this.#inTurn(replyTo, () => this.#give(named, { text, by: by.id }, { by, key }))
    }
    const open = records.cards().filter((record) => record.place === place)
    const asking = open.findLast(({ view }) => view.asking?.by === by.id)
    if (asking) return this.#inTurn(asking.cardId, () => this.#give(asking, { text, by: by.id }, { by, key }))
    const lapse = records.takeLapse(place, by.id)
    if (lapse) {
      return told(false, wentNowhere(lapse.outcome))
    }
    const { current } = records.place(place) ?? {}
    const target =
      route === 'agent' && current !== undefined
        ? { to: 'session' as const, sessionId: current }
        : textTarget(open, { by: by.id, current })
    switch (target.to) {
      case 'nobody':
        return told(false, target.told)
      case 'card': {
        const { record } = target
        return this.#inTurn(record.cardId, () => this.#give(record, { text, by: by.id }, { by, key }))
      }
      case 'session':
        return this.#route({ place, sessionId: target.sessionId, text, by, key, route })
    }
  }

  async #give(
    record: CardRecord,
    input: CardInput,
    who: { by: Actor; key?: string | undefined },
  ): Promise<Told> {
    const { cards, records, refresh } = this.#options
    const item = await cards.find(record.sessionId, record.interactionId)
    if (item?.status !== 'pending') {
      refresh(record)
      const outcome = item ? outcomeOf(item, record.view) : GONE
      if (!('text' in input)) return told(false, outcome)
      // Told now, and not once more with the next text.
      records.answering.add(record.cardId)
      records.takeLapse(record.place, input.by)
      return told(false, wentNowhere(outcome))
    }
    const latest = records.card(record.interactionId, record.place)
    if (latest?.cardId !== record.cardId || stepOf(item, latest.view) !== latest.step) {
      refresh(record)
      return told(false, 'That question has been answered.')
    }
    return this.#do(takeInput(item, latest.view, input), latest, item, input, who)
  }

  async #do(
    step: CardStep,
    record: CardRecord,
    item: Interaction,
    input: CardInput,
    { by, key }: { by: Actor; key?: string | undefined },
  ): Promise<Told> {
    const { desk, records, refresh, connector } = this.#options
    const { sessionId, interactionId, digest } = record
    switch (step.do) {
      case 'refuse':
        return told(false, step.told)
      case 'show':
        await records.save({ ...record, view: step.view, drawn: false })
        refresh(record)
        return told(true, step.told)
      case 'route': {
        const questionIndex = item.kind === 'question' ? record.step : undefined
        return this.#route({
          place: record.place,
          sessionId,
          text: 'text' in input ? input.text : '',
          by,
          key,
          interactionId,
          questionIndex,
        })
      }
      case 'progress':
        return this.#attempt(record, null, async () => {
          await desk.progress({ sessionId, interactionId, answers: step.answers })
          return 'Noted.'
        })
      case 'answer':
        records.answering.add(record.cardId)
        return this.#attempt(record, { answer: step.answer, by }, async () => {
          await desk.respond({
            sessionId,
            interactionId,
            answer: step.answer,
            digest,
            by,
            via: connector.via,
          })
          return `Thank you: ${taken(item, record)} is settled.`
        })
    }
  }

  async #route(input: {
    place: string
    sessionId: string
    text: string
    by: Actor
    key: string | undefined
    interactionId?: string
    questionIndex?: number | undefined
    route?: 'agent' | undefined
  }): Promise<Told> {
    const { desk, connector, cards, records } = this.#options
    const { place, sessionId, text, by, key, interactionId, questionIndex, route } = input
    // As they stand now: the next step of one may be shown before it is told what was taken.
    const open = records.cards().filter((record) => record.place === place)
    return this.#attempt(null, null, async () => {
      const named = optional({ interactionId, questionIndex, route, idempotencyKey: key })
      const { routed, interactionId: took } = await desk.message({
        sessionId,
        text,
        by,
        via: connector.via,
        ...named,
      })
      if (routed === 'agent') return `Sent to the agent: ${await this.#nameOf(sessionId)}.`
      if (routed === 'log')
        return `Saved as a note in the log of ${await this.#nameOf(sessionId)}. No agent reads it.`
      const item = took === undefined ? null : await cards.find(sessionId, took)
      const record = open.find((each) => each.interactionId === took)
      return item ? `Your text was taken for ${taken(item, record)}.` : 'Your text was taken as an answer.'
    })
  }

  /** What a person can run into is told; only what has to be tried again is thrown. */
  async #attempt(
    record: CardRecord | null,
    own: { answer: Json; by: Actor } | null,
    act: () => Promise<string>,
  ): Promise<Told> {
    const { refresh, records } = this.#options
    try {
      const said = await act()
      if (record) refresh(record)
      return told(true, said)
    } catch (error) {
      if (!(error instanceof AskbackError) || error.code === 'internal') throw error
      if (record && error.code !== 'already_settled') records.answering.delete(record.cardId)
      if (record) refresh(record)
      const winner = winnerOf(error)
      if (!winner) return told(false, error.message)
      // A double tap finds one's own answer.
      const isOwn =
        own &&
        winner.by?.id === own.by.id &&
        canonicalJson(winner.answer ?? null) === canonicalJson(own.answer)
      return told(Boolean(isOwn), outcomeOf(winner, record?.view ?? freshView))
    }
  }

  async #nameOf(sessionId: string): Promise<string> {
    const session = await this.#options.desk.session(sessionId)
    return spellOutLine(session?.title ?? session?.agent ?? sessionId, 'prose')
  }

  /** One after the other on a card: a second tap sees what the first one did. */
  #inTurn(cardId: string, act: () => Promise<Told> | Told): Promise<Told> {
    const before = this.#turns.get(cardId) ?? Promise.resolve()
    const turn = before.then(act, act)
    this.#turns.set(cardId, turn)
    const end = () => {
      if (this.#turns.get(cardId) === turn) this.#turns.delete(cardId)
    }
    turn.then(end, end)
    return turn
  }
}

function wentNowhere(outcome: string): string {
  return `What you were writing for is settled: ${outcome} Your text went nowhere; send it again if it is for the agent.`
}

/** By the title that it stood under. */
function taken(item: Interaction, record: CardRecord | undefined): string {
  const { title } = record ? bodyOf(asOf(item, record.step), record.view) : bodyOf(item, freshView)
  return `“${title}”`
}

function winnerOf(error: AskbackError): Interaction | null {
  const { details } = error
  if (error.code !== 'already_settled' || typeof details !== 'object' || details === null) return null
  const parsed = interaction.safeParse('interaction' in details ? details.interaction : null)
  return parsed.success ? parsed.data : null
}

function told(ok: boolean, text: string): Told {
  return { ok, text: spellOut(text, 'prose') }
}
