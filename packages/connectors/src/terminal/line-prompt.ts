import type { Clock } from '@askback/core'
import { styleText } from 'node:util'
import type { Arming } from './arming.js'
import type { Question } from './asker.js'
import { keepLines } from './drawing.js'
import { PassingPrompt, type Streams } from './run-prompt.js'

/** A line to type in. */
export class LinePrompt extends PassingPrompt<string> {
  constructor(streams: Streams, question: Question, draft: string) {
    super(streams, () => drawLine(question, this.userInput, this._cursor), { takesText: true, draft })
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
    super(streams, () => drawLine(question, draft, draft.length), { takesText: false })
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

function drawLine({ card }: Question, text: string, cursor: number): string {
  // One character under the cursor, also where it has two units.
  const point = text.codePointAt(cursor)
  const under = point === undefined ? ' ' : String.fromCodePoint(point)
  const typed = `${text.slice(0, cursor)}${styleText('inverse', under)}${text.slice(cursor + under.length)}`
  const hint = card
    ? `${card.asks ?? `For: ${card.title}`} Esc goes back.`
    : 'Nothing waits. A text goes to the agent; /help lists commands.'
  return `${styleText('dim', keepLines(hint))}\n> ${typed}`
}
