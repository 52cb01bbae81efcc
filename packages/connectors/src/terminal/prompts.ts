import type { Clock } from '@askback/core'
import { Prompt } from '@clack/core'
import type { Key } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { styleText } from 'node:util'
import type { CardControl, TextCard } from '../cards/card.js'
import { markLines } from './drawing.js'
import { drawControls, screenOf } from './drawing-controls.js'
import type { KeyGuard } from './key-guard.js'
import {
  isAnswerable,
  SHOW_MORE,
  textDestination,
  type InputPrompt,
  type PersonInput,
} from './terminal-input.js'

export interface Streams {
  input: Readable
  output: Writable
}

/** A prompt that removes itself from the screen when it ends, so that only cards and messages stay in the scrollback. */
abstract class RemovedPrompt<Value> extends Prompt<Value> {
  constructor(streams: Streams, draw: () => string, options: { takesText: boolean; draft?: string }) {
    const { takesText, draft } = options
    super(
      {
        ...streams,
        ...(draft !== undefined && { initialUserInput: draft }),
        render: () => (this.isOver ? '' : draw()),
      },
      takesText,
    )
  }

  get isOver(): boolean {
    return this.state === 'submit' || this.state === 'cancel'
  }

  end(state: 'submit' | 'cancel'): void {
    this.state = state
    // The library declares `render` as private, but nothing else removes the frame.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
    ;(this as unknown as { render(): void }).render()
    this.close()
  }
}

/** Runs a prompt until the person answers or cancels it, or `signal` aborts. */
export async function runPrompt(
  prompt: RemovedPrompt<unknown>,
  signal: AbortSignal,
  output: Writable,
): Promise<'done' | 'aborted' | 'cancelled'> {
  const abort = () => prompt.end('cancel')
  signal.addEventListener('abort', abort, { once: true })
  await prompt.prompt()
  signal.removeEventListener('abort', abort)
  // The library ends each prompt with an empty line; this moves the cursor back up.
  output.write('\u001b[1A')
  if (signal.aborted && prompt.state === 'cancel') return 'aborted'
  return prompt.state === 'cancel' ? 'cancelled' : 'done'
}

/** The person wants to type a text, which begins with this. */
export interface BeginText {
  type: string
}

/** The controls of a card, chosen with keys. */
export class KeyPrompt extends RemovedPrompt<PersonInput | BeginText> {
  /** The index of the marked control; -1 if none is marked. */
  at: number
  readonly #card: TextCard
  readonly #guard: KeyGuard

  constructor(
    streams: Streams,
    card: TextCard,
    { openCards, hasAgent }: InputPrompt,
    { at, guard }: { at: number; guard: KeyGuard },
  ) {
    const screen = () => screenOf(streams.output)
    super(streams, () => drawControls(card, { at: this.at, openCards, hasAgent, screen: screen() }), {
      takesText: false,
    })
    this.#card = card
    this.#guard = guard
    this.at = Math.min(at, card.controls.length - 1)
    this.on('key', (char, key) => this.#press(char, key))
  }

  protected override _shouldSubmit(): boolean {
    return false
  }

  #press(char: string | undefined, key: Key): void {
    const isAccepted = this.#guard.acceptKey()
    if (key.name === 'up' || key.name === 'k') return this.#move(-1)
    if (key.name === 'down' || key.name === 'j') return this.#move(1)
    if (!isAccepted) return
    if (key.name === 'tab') return this.#submit({ next: true })
    if (key.name === 't') return this.#submit({ type: '' })
    if (char === '/') return this.#submit({ type: '/' })
    if (char === '?') return this.#submit({ text: '/help' })
    const control = this.#controlFor(char, key)
    if (control) this.#submit({ control: control.id })
  }

  #move(by: 1 | -1): void {
    const { length } = this.#card.controls
    if (length === 0) return
    this.at = (Math.max(this.at, by > 0 ? -1 : 0) + by + length) % length
  }

  #controlFor(char: string | undefined, key: Key): CardControl | undefined {
    const { controls } = this.#card
    const marked = controls[this.at]
    const withId = (id: string) => controls.find((control) => control.id === id)
    if (key.name === 'escape') return withId('back')
    if (key.name === 'return') {
      const hasBoxes = controls.some(({ checked }) => checked !== undefined)
      if (!marked && withId(SHOW_MORE)) return withId(SHOW_MORE)
      // Space ticks a box, so Enter on a box confirms the selection.
      return hasBoxes && (!marked || marked.checked !== undefined) ? withId('done') : marked
    }
    if (key.name === 'space') return marked?.checked === undefined ? withId(SHOW_MORE) : marked
    if (char && /^[1-9]$/.test(char)) return controls[Number(char) - 1]
    if (key.name === 'a') return withId('approve')
    if (key.name === 'd') return withId('deny')
    return undefined
  }

  #submit(input: PersonInput | BeginText): void {
    this.value = input
    this.state = 'submit'
  }
}

/** A line to type in. */
export class LinePrompt extends RemovedPrompt<string> {
  constructor(streams: Streams, prompt: InputPrompt, draft: string) {
    super(streams, () => drawLine(prompt, this.userInput, this._cursor, streams), {
      takesText: true,
      draft,
    })
    this.on('key', (_char, key) => {
      if (key.name !== 'escape') return
      this.value = undefined
      this.state = 'submit'
    })
    this.on('userInput', (text) => (this.value = text))
  }

  protected override _shouldSubmit(): boolean {
    return this.userInput.trim() !== ''
  }
}

/** Looks like `LinePrompt` and discards all keys until the guard accepts them. Then it ends. */
export class DisabledLinePrompt extends RemovedPrompt<never> {
  constructor(
    streams: Streams,
    prompt: InputPrompt,
    draft: string,
    { guard, clock }: { guard: KeyGuard; clock: Clock },
  ) {
    super(streams, () => drawLine(prompt, draft, draft.length, streams), { takesText: false })
    const endWhenAccepted = () => {
      if (this.isOver) return
      if (guard.remainingMs > 0) clock.alarm(clock.now() + guard.remainingMs, endWhenAccepted)
      else this.end('submit')
    }
    endWhenAccepted()
    this.on('key', () => void guard.acceptKey())
  }

  protected override _shouldSubmit(): boolean {
    return false
  }
}

function drawLine(
  { card, hasAgent }: InputPrompt,
  text: string,
  cursor: number,
  { output }: Streams,
): string {
  // The character under the cursor, which may consist of two UTF-16 units.
  const point = text.codePointAt(cursor)
  const under = point === undefined ? ' ' : String.fromCodePoint(point)
  const typed = `${text.slice(0, cursor)}${styleText('inverse', under)}${text.slice(cursor + under.length)}`
  const hint = markLines(hintFor(card, hasAgent), screenOf(output).columns, ['', '│ '])
  return `${hint.map((line) => styleText('dim', line)).join('\n')}\n> ${typed}`
}

function hintFor(card: TextCard | null, hasAgent: boolean): string {
  const destination = textDestination(hasAgent)
  if (!card) return `All caught up. ${destination}${hasAgent ? '; ' : '. '}/help lists commands.`
  if (!isAnswerable(card)) return `${destination}. Esc goes back.`
  return `${card.asks ?? `For: ${card.title}`} Esc goes back.`
}
