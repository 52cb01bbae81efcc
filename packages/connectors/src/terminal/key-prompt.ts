import type { Card, Control } from '@askback/core'
import type { Key } from 'node:readline'
import type { Arming } from './arming.js'
import type { Asked, Question } from './asker.js'
import { drawControls, MORE, screenOf } from './drawing-controls.js'
import { PassingPrompt, type Streams } from './run-prompt.js'

/** A text is typed from now on, which begins with this. */
export interface Typing {
  type: string
}

/** The controls of a card, by their keys. */
export class KeyPrompt extends PassingPrompt<Asked | Typing> {
  at: number
  readonly #card: Card
  readonly #arming: Arming

  constructor(
    streams: Streams,
    card: Card,
    { waiting, hasAgent }: Question,
    { at, arming }: { at: number; arming: Arming },
  ) {
    super(
      streams,
      () => drawControls(card, { at: this.at, waiting, hasAgent, screen: screenOf(streams.output) }),
      {
        takesText: false,
      },
    )
    this.#card = card
    this.#arming = arming
    this.at = Math.min(at, card.controls.length - 1)
    this.on('key', (char, key) => this.#press(char, key))
  }

  protected override _shouldSubmit(): boolean {
    return false
  }

  #press(char: string | undefined, key: Key): void {
    const { controls } = this.#card
    const counts = this.#arming.press()
    const move = (by: number) => {
      if (controls.length === 0) return
      this.at = (Math.max(this.at, by > 0 ? -1 : 0) + by + controls.length) % controls.length
    }
    if (key.name === 'up' || key.name === 'k') return move(-1)
    if (key.name === 'down' || key.name === 'j') return move(1)
    if (!counts) return
    if (key.name === 'tab') return this.#choose({ next: true })
    if (key.name === 't') return this.#choose({ type: '' })
    if (char === '/') return this.#choose({ type: '/' })
    if (char === '?') return this.#choose({ text: '/help' })
    const control = this.#chosenBy(char, key)
    if (control) this.#choose({ control: control.id })
  }

  #chosenBy(char: string | undefined, key: Key): Control | undefined {
    const { controls } = this.#card
    const more = controls.find(({ id }) => id === MORE)
    if (key.name === 'escape') return controls.find(({ id }) => id === 'back')
    if (key.name === 'return') {
      const here = controls[this.at]
      const ticks = controls.some(({ checked }) => checked !== undefined)
      if (!here && more) return more
      // With boxes to tick, Enter is for what is done with them.
      return ticks && (!here || here.checked !== undefined) ? controls.find(({ id }) => id === 'done') : here
    }
    if (key.name === 'space') return controls[this.at]?.checked === undefined ? more : controls[this.at]
    if (char && /^[1-9]$/.test(char)) return controls[Number(char) - 1]
    if (key.name === 'a') return controls.find(({ id }) => id === 'approve')
    if (key.name === 'd') return controls.find(({ id }) => id === 'deny')
    return undefined
  }

  #choose(asked: Asked | Typing): void {
    this.value = asked
    this.state = 'submit'
  }
}
