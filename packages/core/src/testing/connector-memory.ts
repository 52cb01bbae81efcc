import { AskbackError, type Actor, type Json, type SessionEvent } from '@askback/protocol'
import type { Connector, ConnectorLine, Told } from '../connectors/connector.js'
import type { Card, ClosedCard } from '../connectors/connector-card.js'
import type { ConnectorUnderTest, ShownCard } from './connector-contract.js'

/** A surface in memory. Like a chat, it continues to exist when its connector ends. */
export function memorySurface(): ConnectorUnderTest & { messages: { text: string; card: Card | null }[] } {
  const messages: { text: string; card: Card | null }[] = []
  const lines: string[] = []
  let line: ConnectorLine | null = null
  let isDown = false

  function throwIfDown(): void {
    if (isDown)
      throw new AskbackError('unavailable', 'The surface is down.', { details: { retryAfterMs: 20 } })
  }

  const make = (): Connector => ({
    id: 'memory',
    via: 'direct',
    start: async (given) => void (line = given),
    async show(_place, card) {
      throwIfDown()
      return messages.push({ text: textOf(card), card }) - 1
    },
    async update(_place, shown, card) {
      throwIfDown()
      messages[shown as number] = { text: textOf(card), card }
      return shown
    },
    async close(_place, shown: Json, { card, outcome }: ClosedCard) {
      throwIfDown()
      messages[shown as number] = { text: `${textOf(card)}\n${outcome}`, card: null }
    },
    async say(_place, text) {
      throwIfDown()
      lines.push(text)
    },
    async hear(_place, event: SessionEvent) {
      throwIfDown()
      if (event.type === 'text') lines.push(event.text)
    },
    stop: async () => void (line = null),
  })

  async function showResult(result: Promise<Told>): Promise<void> {
    lines.push((await result).text)
  }

  const find = (label: string): { card: Card; control: string } => {
    for (const { card } of messages.toReversed()) {
      const control = card?.controls.find((each) => each.label.startsWith(label))
      if (card && control) return { card, control: control.id }
    }
    throw new Error(`no control ${label}`)
  }

  return {
    messages,
    make,
    place: 'here',
    actor: (name) => ({ id: name, name }),
    screen: async () => ({
      cards: messages.flatMap(({ text, card }): ShownCard[] =>
        card ? [{ text, controls: card.controls.map(({ label }) => label) }] : [],
      ),
      everything: [...messages.map(({ text }) => text), ...lines].join('\n'),
    }),
    async tap(label, by) {
      const { card, control } = find(label)
      await showResult(line!.tap({ place: 'here', cardId: card.cardId, control, by: actor(by) }))
    },
    type: (text, by) => showResult(line!.text({ place: 'here', text, by: actor(by) })),
    setDown: (down) => void (isDown = down),
    end: async () => undefined,
  }
}

function actor(name: string): Actor {
  return { id: name, name }
}

function textOf({ title, parts, asks }: Card): string {
  return [title, ...parts.flatMap(({ label, text }) => (label ? [label, text] : [text])), asks ?? ''].join(
    '\n',
  )
}
