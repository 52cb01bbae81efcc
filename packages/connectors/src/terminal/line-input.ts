import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { TextCard } from '../cards/card.js'
import { markLines } from './drawing.js'
import { columnsOf } from './drawing-controls.js'
import {
  isAnswerable,
  textDestination,
  type InputPrompt,
  type PersonInput,
  type TerminalInput,
} from './terminal-input.js'

/** Input line by line, for pipes and screen readers: the number or the name of a choice, or a text. */
export function lineInput({ input, output }: { input: Readable; output: Writable }): TerminalInput {
  const reader = createInterface({ input, terminal: false })
  const unread: string[] = []
  let hasEnded = false
  let notify: () => void = () => undefined
  reader.on('line', (line) => {
    unread.push(line)
    notify()
  })
  reader.on('close', () => {
    hasEnded = true
    notify()
  })

  return {
    print: (text) => void output.write(`${text}\n`),
    async read(prompt, signal) {
      output.write(`${promptLines(prompt, columnsOf(output)).join('\n')}\n`)
      for (;;) {
        const line = unread.shift()
        if (line !== undefined && line.trim() !== '') return parseLine(line, prompt)
        if (line === undefined && hasEnded) return { detach: true }
        if (signal.aborted) return null
        await new Promise<void>((resolve) => {
          notify = resolve
          signal.addEventListener('abort', () => resolve(), { once: true })
        })
        if (signal.aborted) return null
      }
    },
    stop: () => reader.close(),
  }
}

function promptLines({ card, openCards, hasAgent }: InputPrompt, columns: number): string[] {
  if (!card) return ['(nothing waits)']
  const choices = card.controls.flatMap(({ label, checked }, index) => {
    const box = checked === undefined ? '' : checked ? '[x] ' : '[ ] '
    const mark = `  ${card.asks === null ? `${index + 1})` : '-'} ${box}`
    return markLines(label, columns, [mark, '  │ '])
  })
  const more = openCards > 1 ? [`(${openCards - 1} more wait)`] : []
  return [...choices, ...more, ...markLines(hintFor(card, hasAgent), columns, ['? ', '│ '])]
}

function hintFor(card: TextCard, hasAgent: boolean): string {
  if (!isAnswerable(card)) return `You cannot answer this here. ${textDestination(hasAgent)}.`
  return card.asks ?? 'Choose by number or name, or type a text.'
}

function parseLine(line: string, { card }: InputPrompt): PersonInput {
  const text = line.trim()
  const asksForText = card !== null && card.asks !== null
  if (text === '/quit' || text === '/detach') return { detach: true }
  // Where the card asks for a text, "?" and numbers can be the answer.
  if (text === '?' && !asksForText) return { text: '/help' }
  const named = card?.controls.find(
    ({ label }) => isSameName(label, text) || isSameName(label.replace(/…$| \(\d+\)$/, ''), text),
  )
  if (named) return { control: named.id }
  const numbered = !asksForText && /^\d{1,2}$/.test(text) ? card?.controls[Number(text) - 1] : undefined
  return numbered ? { control: numbered.id } : { text: line }
}

function isSameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}
