import type { Clock } from '@askback/core'
import { styleText } from 'node:util'
import type { Arming } from './arming.js'
import type { Question } from './asker.js'
import { isAnswerable, screenOf, textGoes } from './drawing-controls.js'
import { PassingPrompt, type Streams } from './run-prompt.js'
import { markLines } from './wrapping.js'

/** A line to type in. */
export class LinePrompt extends PassingPrompt<string> {
  constructor(streams: Streams, question: Question, draft: string) {
    super(streams, () => drawLine(question, this.userInput, this._cursor, streams), {
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

/** The same line before it takes anything: what is typed on for something else goes nowhere. */
export class RestingPrompt extends PassingPrompt<never> {
  constructor(streams: Streams, question: Question, draft: string, how: { arming: Arming; clock: Clock }) {
    super(streams, () => drawLine(question, draft, draft.length, streams), { takesText: false })
    const { arming, clock } = how
    const look = () => {
      if (this.isOver) return
      if (arming.restMs > 0) clock.alarm(clock.now() + arming.restMs, look)
      else this.end('submit')
    }
    look()
    this.on('key', () => void arming.press())
  }

  protected override _shouldSubmit(): boolean {
    return false
  }
}

function drawLine({ card, hasAgent }: Question, text: string, cursor: number, { output }: Streams): string {
  // One character under the cursor, also where it has two units.
  const point = text.codePointAt(cursor)
  const under = point === undefined ? ' ' : String.fromCodePoint(point)
  const typed = `${text.slice(0, cursor)}${styleText('inverse', under)}${text.slice(cursor + under.length)}`
  const hint = markLines(hintOf(card, hasAgent), screenOf(output).columns, ['', '│ '])
  return `${hint.map((line) => styleText('dim', line)).join('\n')}\n> ${typed}`
}

function hintOf(card: Question['card'], hasAgent: boolean): string {
  const goes = textGoes(hasAgent)
  if (!card) return `All caught up. ${goes}${hasAgent ? '; ' : '. '}/help lists commands.`
  if (!isAnswerable(card)) return `${goes}. Esc goes back.`
  return `${card.asks ?? `For: ${card.title}`} Esc goes back.`
}
