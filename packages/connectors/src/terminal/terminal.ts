import { jumpAwareClock, type Clock } from '@askback/core'
import { errorMessage, type Actor } from '@askback/protocol'
import type { Readable, Writable } from 'node:stream'
import { prose, type TextCard } from '../cards/card.js'
import { runCommand } from '../runner/commands.js'
import type { Connector, ConnectorContext } from '../runner/connector.js'
import { CardPages } from './card-pages.js'
import { drawClosed, drawEvent, drawNotice } from './drawing.js'
import { columnsOf } from './drawing-controls.js'
import { keyInput } from './key-input.js'
import { lineInput } from './line-input.js'
import { isAnswerable, SHOW_MORE, type PersonInput, type TerminalInput } from './terminal-input.js'

/** The options of the terminal. */
export interface TerminalOptions {
  input: Readable
  output: Writable
  /** Whether to use single keys and a prompt that stays at the bottom. If not, input is read line by line. */
  keys: boolean
  /** The person at the terminal. */
  by: Actor
  /** Whether the session has an agent that reads messages. @default true */
  hasAgent?: boolean
  clock?: Clock
}

export interface TerminalConnector extends Connector {
  /** The id of its only place. */
  readonly place: string
  /** Takes input from now on. Resolves when the person leaves. */
  attend(): Promise<void>
}

const PLACE = 'terminal'
/** How long to wait for the effect of an input, before the prompt is shown again or the terminal stops. */
const EFFECT_TIMEOUT_MS = 1000
/** The terminal is attached to one session, so it has no commands that choose another. */
const EXCLUDED_COMMANDS = ['sessions', 'new', 'follow']
const QUIT_HELP = '/quit: leave; what waits stays pending'
const KEY_HELP = {
  answer:
    'Answer with the keys below a request: a approves, d denies, a number or ↑↓ and Enter chooses, t types a text, Tab shows the next one, / begins a command.',
  more: [QUIT_HELP],
}
const LINE_HELP = {
  answer: 'Answer by the number or the name of a choice, or with a text.',
  more: [QUIT_HELP],
}

/**
 * A session in a terminal: its events as they happen, and its open cards one after the other. `attend` runs a loop of
 * printing what is new, showing the first card and waiting for an input; anything new aborts the wait and begins it again.
 *
 * @example
 * const terminal = terminalConnector({ input: process.stdin, output: process.stdout, keys: true, by: { id: 'ada' } })
 * const running = runConnector({ connector: terminal, desk, onError })
 * await running.context.setPlace(terminal.place, { sessions: [sessionId], current: sessionId })
 * await terminal.attend()
 */
export function terminalConnector(options: TerminalOptions): TerminalConnector {
  const { input, output, by, hasAgent = true, clock = jumpAwareClock } = options
  const terminalInput: TerminalInput = options.keys
    ? keyInput({ input, output, clock })
    : lineInput({ input, output })
  const cards: TextCard[] = []
  const unprinted: string[] = []
  const pages = new CardPages(output, clock)
  let context: ConnectorContext | null = null
  let isActing = false
  /** Aborts the current prompt. */
  let promptOutdated = new AbortController()
  const stopping = new AbortController()
  let stopWaiting = () => {}
  const waitingStopped = new Promise<void>((resolve) => (stopWaiting = resolve))

  function showPromptAgain(): void {
    promptOutdated.abort()
  }

  function print(text: string): void {
    unprinted.push(text)
    // While an input is being sent there is no prompt that would have to be removed first.
    if (isActing) printAll()
    else showPromptAgain()
  }

  /** Tells the person what came of their input, before the next prompt. */
  function printResult(text: string): void {
    unprinted.push(drawNotice(prose(text), columnsOf(output)))
  }

  function printAll(): void {
    if (unprinted.length > 0) pages.redraw()
    for (const text of unprinted.splice(0)) terminalInput.print(text)
  }

  async function attend(): Promise<void> {
    output.on('resize', showPromptAgain)
    while (!stopping.signal.aborted) {
      promptOutdated = new AbortController()
      printAll()
      const card = cards[0] ?? null
      const page = pages.open(card)
      if (page.lines.length > 0) terminalInput.print(page.lines.join('\n'))
      const prompt = { card: page.card, openCards: cards.length, hasAgent }
      const entered = await terminalInput.read(prompt, promptOutdated.signal)
      if (!entered) continue
      if ('detach' in entered) break
      if ('control' in entered && entered.control === SHOW_MORE) {
        pages.turn()
        continue
      }
      isActing = true
      await Promise.race([act(entered, card), waitingStopped])
      isActing = false
    }
    output.off('resize', showPromptAgain)
    printAll()
    terminalInput.stop()
  }

  /** Waits until an input shows its effect. The prompt would else appear once more for the same card. */
  function effectShown(): Promise<void> {
    const { signal } = promptOutdated
    if (signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const cancelTimer = clock.alarm(clock.now() + EFFECT_TIMEOUT_MS, resolve)
      signal.addEventListener('abort', () => {
        cancelTimer()
        resolve()
      })
    })
  }

  async function act(entered: Exclude<PersonInput, { detach: true }>, card: TextCard | null): Promise<void> {
    if ('next' in entered) {
      cards.push(...cards.splice(0, 1))
      return
    }
    try {
      await ('control' in entered ? actOnControl(entered.control, card) : actOnText(entered.text, card))
    } catch (error) {
      printResult(errorMessage(error))
    }
  }

  async function actOnControl(control: string, card: TextCard | null): Promise<void> {
    const result = card && (await context!.tap({ place: PLACE, cardId: card.cardId, control, by }))
    if (result && !result.ok) return printResult(result.text)
    await effectShown()
  }

  async function actOnText(text: string, card: TextCard | null): Promise<void> {
    const help = options.keys ? KEY_HELP : LINE_HELP
    const reply = text.startsWith('/')
      ? await runCommand(context!, { place: PLACE, text, by, except: EXCLUDED_COMMANDS, help })
      : null
    if (reply !== null) return printResult(reply)
    const [, unknown] = /^\/([a-z]+)(?:\s|$)/i.exec(text.trim()) ?? []
    if (unknown !== undefined && !takesUnknownCommand(card)) {
      return printResult(`There is no command /${unknown}. /help lists them.`)
    }
    // The text is for the card on the screen or for the agent, and never for a card that was not shown yet.
    const target = card && isAnswerable(card) ? { replyTo: card.cardId } : { route: 'agent' as const }
    const result = await context!.text({ place: PLACE, text, by, ...target })
    printResult(result.text)
    if (result.ok && card) await effectShown()
  }

  /**
   * A mistyped command must neither deny a request nor become a note. It is sent only to an agent, which may have commands
   * of its own, and to a card that asks for a text, whose answer may be a path.
   */
  function takesUnknownCommand(card: TextCard | null): boolean {
    return card && isAnswerable(card) ? card.asks !== null : hasAgent
  }

  return {
    id: 'terminal',
    via: 'terminal',
    place: PLACE,
    attend,
    start: async (given) => void (context = given),
    async show(_place, card) {
      cards.push(card)
      showPromptAgain()
      return card.cardId
    },
    async update(_place, shown, card) {
      const at = cards.findIndex(({ cardId }) => cardId === card.cardId)
      if (at >= 0) cards[at] = card
      showPromptAgain()
      return shown
    },
    async close(_place, shown, closed) {
      const at = cards.findIndex(({ cardId }) => cardId === shown)
      if (at >= 0) cards.splice(at, 1)
      unprinted.push(drawClosed(closed, columnsOf(output)))
      // After a step the next card follows at once, so no prompt is shown in between.
      if (closed.settlement !== 'step') showPromptAgain()
    },
    say: async (_place, text) => print(drawNotice(text, columnsOf(output))),
    async showEvent(_place, event) {
      const text = drawEvent(event, columnsOf(output))
      if (text !== null) print(text)
    },
    async stop() {
      stopping.abort()
      showPromptAgain()
      if (isActing) clock.alarm(clock.now() + EFFECT_TIMEOUT_MS, stopWaiting)
    },
  }
}
