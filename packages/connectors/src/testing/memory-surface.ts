import { AskbackError, type Actor, type Json, type SessionEvent } from '@askback/protocol'
import type { ClosedCard, TextCard } from '../cards/card.js'
import type { Connector, ConnectorContext, InputResult } from '../runner/connector.js'
import type { ConnectorUnderTest, VisibleCard } from './connector-contract.js'

export interface MemorySurface extends ConnectorUnderTest {
  /** Everything shown so far; `card` is `null` once its controls are gone. */
  messages: { text: string; card: TextCard | null }[]
}

/** A surface in memory. Like a chat, it keeps its messages when its connector restarts. */
export function memorySurface(): MemorySurface {
  const messages: MemorySurface['messages'] = []
  const lines: string[] = []
  let context: ConnectorContext | null = null
  let isDown = false

  function checkReachable(): void {
    if (isDown)
      throw new AskbackError('unavailable', 'The surface is down.', { details: { retryAfterMs: 20 } })
  }

  const make = (): Connector => ({
    id: 'memory',
    via: 'direct',
    start: async (given) => void (context = given),
    async show(_place, card) {
      checkReachable()
      return messages.push({ text: textOf(card), card }) - 1
    },
    async update(_place, shown, card) {
      checkReachable()
      messages[shown as number] = { text: textOf(card), card }
      return shown
    },
    async close(_place, shown: Json, { card, outcome }: ClosedCard) {
      checkReachable()
      messages[shown as number] = { text: `${textOf(card)}\n${outcome}`, card: null }
    },
    async say(_place, text) {
      checkReachable()
      lines.push(text)
    },
    async showEvent(_place, event: SessionEvent) {
      checkReachable()
      if (event.type === 'text') lines.push(event.text)
    },
    stop: async () => void (context = null),
  })

  async function print(result: Promise<InputResult>): Promise<void> {
    lines.push((await result).text)
  }

  const findControl = (label: string): { cardId: string; control: string } => {
    for (const { card } of messages.toReversed()) {
      const control = card?.controls.find((each) => each.label.startsWith(label))
      if (card && control) return { cardId: card.cardId, control: control.id }
    }
    throw new Error(`No open card has a control ${label}.`)
  }

  return {
    messages,
    make,
    place: 'here',
    actor,
    screen: async () => ({
      cards: messages.flatMap(({ text, card }): VisibleCard[] =>
        card ? [{ text, controls: card.controls.map(({ label }) => label) }] : [],
      ),
      everything: [...messages.map(({ text }) => text), ...lines].join('\n'),
    }),
    tap: (label, by) => print(context!.tap({ place: 'here', ...findControl(label), by: actor(by) })),
    type: (text, by) => print(context!.text({ place: 'here', text, by: actor(by) })),
    setDown: (down) => void (isDown = down),
    end: async () => undefined,
  }
}

function actor(name: string): Actor {
  return { id: name, name }
}

function textOf({ title, parts, asks }: TextCard): string {
  return [title, ...parts.flatMap(({ label, text }) => (label ? [label, text] : [text])), asks ?? ''].join(
    '\n',
  )
}
