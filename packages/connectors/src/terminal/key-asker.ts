import { Prompt, settings } from '@clack/core'
import type { Card, Clock, Control } from '@askback/core'
import type { Key } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { styleText } from 'node:util'
import type { Asked, Asker, Question } from './asker.js'

interface Streams {
  input: Readable
  output: Writable
}

/** A key that was on its way when the card came must not decide it. */
const ARM_MS = 300

/** Keys and a line to type in, below everything that was said. */
export function keyAsker({ input, output, clock }: Streams & { clock: Clock }): Asker {
  // Here it leads back, and does not leave.
  settings.aliases.delete('escape')
  const positions = new Map<string, number>()
  let draft = ''
  let typingFor: string | null = null
  let shown: { cardId: string; at: number } | null = null

  async function askByKeys(card: Card, question: Question, signal: AbortSignal): Promise<Asked | null> {
    if (shown?.cardId !== card.cardId) shown = { cardId: card.cardId, at: clock.now() }
    const armsAt = shown.at + ARM_MS
    const prompt = new KeyPrompt({ input, output }, card, question, {
      at: positions.get(card.cardId) ?? -1,
      isArmed: () => clock.now() >= armsAt,
    })
    const result = await run(prompt, signal, output)
    positions.set(card.cardId, prompt.at)
    if (result === 'aborted') return null
    const key = prompt.value
    if (result === 'cancelled' || key === undefined) return { detach: true }
    if (key !== 'type') return key
    typingFor = card.cardId
    return null
  }

  async function askByText(question: Question, signal: AbortSignal): Promise<Asked | null> {
    const prompt = new LinePrompt({ input, output }, question, draft)
    const result = await run(prompt, signal, output)
    draft = result === 'aborted' ? prompt.userInput : ''
    if (result === 'aborted') return null
    typingFor = null
    if (result === 'cancelled') return { detach: true }
    const back = question.card?.controls.find(({ id }) => id === 'back')
    if (prompt.value !== undefined) return { text: prompt.value }
    return back ? { control: back.id } : null
  }

  return {
    print: (text) => void output.write(`${text}\n`),
    async ask(question, signal) {
      const { card } = question
      if (signal.aborted) return null
      const types =
        !card ||
        typingFor === card.cardId ||
        (card.asks !== null && card.controls.every(({ id }) => id === 'back'))
      const asked = types ? await askByText(question, signal) : await askByKeys(card, question, signal)
      if (asked && 'text' in asked && /^\/(quit|detach)$/.test(asked.text.trim())) return { detach: true }
      return asked
    },
    stop: () => undefined,
  }
}

async function run(
  prompt: Prompt<unknown> & { wipe(): void },
  signal: AbortSignal,
  output: Writable,
): Promise<'done' | 'aborted' | 'cancelled'> {
  const abort = () => prompt.wipe()
  signal.addEventListener('abort', abort, { once: true })
  await prompt.prompt()
  signal.removeEventListener('abort', abort)
  // It ends with an empty line of its own.
  output.write('\u001b[1A')
  if (signal.aborted && prompt.state === 'cancel') return 'aborted'
  return prompt.state === 'cancel' ? 'cancelled' : 'done'
}

class KeyPrompt extends Prompt<Asked | 'type'> {
  at: number
  readonly #card: Card
  readonly #isArmed: () => boolean

  constructor(
    streams: Streams,
    card: Card,
    { waiting }: Question,
    how: { at: number; isArmed: () => boolean },
  ) {
    super({ ...streams, render: () => (this.isOver ? '' : drawControls(card, this.at, waiting)) }, false)
    this.#card = card
    this.#isArmed = how.isArmed
    this.at = Math.min(how.at, card.controls.length - 1)
    this.on('key', (char, key) => this.#press(char, key))
  }

  get isOver(): boolean {
    return this.state === 'submit' || this.state === 'cancel'
  }

  wipe(): void {
    this.state = 'cancel'
    redraw(this)
    this.close()
  }

  protected override _shouldSubmit(): boolean {
    return false
  }

  #press(char: string | undefined, key: Key): void {
    const { controls } = this.#card
    const move = (by: number) => {
      this.at = (Math.max(this.at, by > 0 ? -1 : 0) + by + controls.length) % controls.length
    }
    if (key.name === 'up' || key.name === 'k') return move(-1)
    if (key.name === 'down' || key.name === 'j') return move(1)
    if (!this.#isArmed()) return
    if (key.name === 'tab') return this.#end({ next: true })
    if (key.name === 't') return this.#end('type')
    const control = this.#chosenBy(char, key)
    if (control) this.#end({ control: control.id })
  }

  #chosenBy(char: string | undefined, key: Key): Control | undefined {
    const { controls } = this.#card
    if (key.name === 'escape') return controls.find(({ id }) => id === 'back')
    if (key.name === 'return') {
      const here = controls[this.at]
      const ticks = controls.some(({ checked }) => checked !== undefined)
      // With boxes to tick, Enter is for what is done with them.
      return ticks && (!here || here.checked !== undefined) ? controls.find(({ id }) => id === 'done') : here
    }
    if (key.name === 'space') return controls[this.at]?.checked === undefined ? undefined : controls[this.at]
    if (char && /^[1-9]$/.test(char)) return controls[Number(char) - 1]
    if (key.name === 'a') return controls.find(({ id }) => id === 'approve')
    if (key.name === 'd') return controls.find(({ id }) => id === 'deny')
    return undefined
  }

  #end(asked: Asked | 'type'): void {
    this.value = asked
    this.state = 'submit'
  }
}

class LinePrompt extends Prompt<string> {
  constructor(streams: Streams, question: Question, draft: string) {
    super({
      ...streams,
      initialUserInput: draft,
      render: () => (this.isOver ? '' : drawLine(question, this.userInput, this._cursor)),
    })
    this.on('key', (_char, key) => {
      if (key.name !== 'escape') return
      this.value = undefined
      this.state = 'submit'
    })
    this.on('userInput', (text) => (this.value = text))
  }

  get isOver(): boolean {
    return this.state === 'submit' || this.state === 'cancel'
  }

  wipe(): void {
    this.state = 'cancel'
    redraw(this)
    this.close()
  }

  protected override _shouldSubmit(): boolean {
    return this.userInput.trim() !== ''
  }
}

/** Not for others to call, says the library's type; but only it can take its frame away. */
function redraw(prompt: object): void {
  ;(prompt as { render(): void }).render()
}

function drawControls({ controls, asks }: Card, at: number, waiting: number): string {
  const rows = controls.map(({ label, checked }, index) => {
    const box = checked === undefined ? '' : checked ? '[x] ' : '[ ] '
    const row = `${index === at ? '❯' : ' '} ${index + 1} ${box}${label}`
    return index === at ? styleText('bold', row) : row
  })
  const keys = [
    controls.some(({ id }) => id === 'approve') ? 'a approve · d deny' : '↑↓ Enter or a number',
    controls.some(({ checked }) => checked !== undefined) ? 'Space ticks, Enter is done' : '',
    't answer with a text',
    waiting > 1 ? `Tab next of ${waiting}` : '',
    'Ctrl-C leaves',
  ]
  return [asks ?? '', ...rows, styleText('dim', keys.filter(Boolean).join(' · '))].filter(Boolean).join('\n')
}

function drawLine({ card }: Question, text: string, cursor: number): string {
  const under = text[cursor] ?? ' '
  const typed = `${text.slice(0, cursor)}${styleText('inverse', under)}${text.slice(cursor + 1)}`
  const hint = card
    ? `${card.asks ?? `For: ${card.title}`} Esc goes back.`
    : 'Nothing waits. A text goes to the agent; /help lists commands.'
  return `${styleText('dim', hint)}\n> ${typed}`
}
