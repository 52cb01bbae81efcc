import {
  runCommand,
  systemClock,
  type Card,
  type Clock,
  type Connector,
  type ConnectorLine,
} from '@askback/core'
import { spellOut, type Actor } from '@askback/protocol'
import type { Readable, Writable } from 'node:stream'
import type { Asked, Asker } from './asker.js'
import { drawClosed, drawEvent, drawNotice } from './drawing.js'
import { columnsOf, isAnswerable, MORE } from './drawing-controls.js'
import { keyAsker } from './key-asker.js'
import { lineAsker } from './line-asker.js'
import { CardPages } from './card-pages.js'

export interface TerminalOptions {
  input: Readable
  output: Writable
  /** With keys and a prompt that stays at the bottom; else plain, line by line. */
  keys: boolean
  /** Who sits there. */
  by: Actor
  /** Whether the session has an agent that reads messages. */
  hasAgent?: boolean
  clock?: Clock
}

export interface TerminalConnector extends Connector {
  /** Its one place. */
  readonly place: string
  /** Takes input from now on. Resolves when the person leaves. */
  attend(): Promise<void>
}

const PLACE = 'terminal'
const SETTLE_MS = 1000
/** It is attached to one session. */
const ELSEWHERE = ['sessions', 'new', 'follow']
const QUIT = '/quit: leave; what waits stays pending'
/** How to use it, for `/help`. */
const KEYS = {
  answer:
    'Answer with the keys below a request: a approves, d denies, a number or ↑↓ and Enter chooses, t types a text, Tab shows the next one, / begins a command.',
  more: [QUIT],
}
const LINES = { answer: 'Answer by the number or the name of a choice, or with a text.', more: [QUIT] }

/** A conversation and what waits in it, one thing after the other. */
export function terminalConnector(options: TerminalOptions): TerminalConnector {
  const { input, output, by, hasAgent = true, clock = systemClock } = options
  const asker: Asker = options.keys ? keyAsker({ input, output, clock }) : lineAsker({ input, output })
  const cards: Card[] = []
  const unsaid: string[] = []
  let line: ConnectorLine | null = null
  const pages = new CardPages(output, clock)
  let isActing = false
  let change = new AbortController()
  const stopping = new AbortController()
  let leave = () => {}
  const left = new Promise<void>((resolve) => (leave = resolve))

  function changed(): void {
    change.abort()
  }

  function say(text: string): void {
    unsaid.push(text)
    // While what was done is on its way, nothing is asked that would have to make room.
    if (isActing) printUnsaid()
    else changed()
  }

  /** What came of what the person did, after the next redraw. */
  function tell(text: string): void {
    unsaid.push(drawNotice(spellOut(text, 'prose'), columnsOf(output)))
  }

  function printUnsaid(): void {
    if (unsaid.length > 0) pages.redraw()
    for (const text of unsaid.splice(0)) asker.print(text)
  }

  async function attend(): Promise<void> {
    output.on('resize', changed)
    while (!stopping.signal.aborted) {
      change = new AbortController()
      printUnsaid()
      const card = cards[0] ?? null
      const page = pages.open(card)
      if (page.lines.length > 0) asker.print(page.lines.join('\n'))
      const asked = await asker.ask({ card: page.card, waiting: cards.length, hasAgent }, change.signal)
      if (!asked) continue
      if ('detach' in asked) break
      if ('control' in asked && asked.control === MORE) {
        pages.turn()
        continue
      }
      isActing = true
      await Promise.race([act(asked, card), left])
      isActing = false
    }
    output.off('resize', changed)
    printUnsaid()
    asker.stop()
  }

  /** What was done shows in a moment: until then the same would be asked again. */
  function nextChange(): Promise<void> {
    const { signal } = change
    if (signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const disarm = clock.alarm(clock.now() + SETTLE_MS, resolve)
      signal.addEventListener('abort', () => {
        disarm()
        resolve()
      })
    })
  }

  async function act(asked: Exclude<Asked, { detach: true }>, card: Card | null): Promise<void> {
    const place = PLACE
    if ('next' in asked) {
      cards.push(...cards.splice(0, 1))
      return
    }
    try {
      if ('control' in asked) {
        const told = card && (await line!.tap({ place, cardId: card.cardId, control: asked.control, by }))
        if (told && !told.ok) return tell(told.text)
        return await nextChange()
      }
      const { text } = asked
      const said = text.startsWith('/')
        ? await runCommand(line!, { place, text, by, except: ELSEWHERE, help: options.keys ? KEYS : LINES })
        : null
      if (said !== null) return tell(said)
      const [, unknown] = /^\/([a-z]+)(?:\s|$)/i.exec(text.trim()) ?? []
      if (unknown !== undefined && !takesAnyText(card)) {
        return tell(`There is no command /${unknown}. /help lists them.`)
      }
      // What nobody has seen here yet is not answered by it.
      const target = card && isAnswerable(card) ? { replyTo: card.cardId } : { route: 'agent' as const }
      const told = await line!.text({ place, text, by, ...target })
      tell(told.text)
      if (told.ok && card) await nextChange()
    } catch (error) {
      tell(error instanceof Error ? error.message : String(error))
    }
  }

  /** A mistyped command must neither deny a request nor become a note. Agents have commands of their own, and an answer may be a path. */
  function takesAnyText(card: Card | null): boolean {
    return card && isAnswerable(card) ? card.asks !== null : hasAgent
  }

  return {
    id: 'terminal',
    via: 'terminal',
    place: PLACE,
    attend,
    start: async (given) => void (line = given),
    async show(_place, card) {
      cards.push(card)
      changed()
      return card.cardId
    },
    async update(_place, shown, card) {
      const at = cards.findIndex(({ cardId }) => cardId === card.cardId)
      if (at >= 0) cards[at] = card
      changed()
      return shown
    },
    async close(_place, shown, closed) {
      const at = cards.findIndex(({ cardId }) => cardId === shown)
      if (at >= 0) cards.splice(at, 1)
      unsaid.push(drawClosed(closed, columnsOf(output)))
      // The next step is about to be shown: in between, nothing is asked.
      if (closed.settlement !== 'step') changed()
    },
    say: async (_place, text) => say(drawNotice(text, columnsOf(output))),
    async hear(_place, event) {
      const text = drawEvent(event, columnsOf(output))
      if (text !== null) say(text)
    },
    async stop() {
      stopping.abort()
      changed()
      // What is on its way has a moment to arrive, and no more.
      if (isActing) clock.alarm(clock.now() + SETTLE_MS, leave)
    },
  }
}
