import type { Card } from '@askback/core'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { Asked, Asker, Question } from './asker.js'
import { columnsOf, isAnswerable, textGoes } from './drawing-controls.js'
import { markLines } from './wrapping.js'

/** One line after the other, for pipes and screen readers: a number or the name of a choice, or a text. */
export function lineAsker({ input, output }: { input: Readable; output: Writable }): Asker {
  const lines = createInterface({ input, terminal: false })
  const waiting: string[] = []
  let ended = false
  let wake: () => void = () => undefined
  lines.on('line', (line) => {
    waiting.push(line)
    wake()
  })
  lines.on('close', () => {
    ended = true
    wake()
  })

  return {
    print: (text) => void output.write(`${text}\n`),
    async ask(question, signal) {
      output.write(`${promptOf(question, columnsOf(output)).join('\n')}\n`)
      for (;;) {
        const line = waiting.shift()
        if (line !== undefined && line.trim() !== '') return read(line, question)
        if (line === undefined && ended) return { detach: true }
        if (signal.aborted) return null
        await new Promise<void>((resolve) => {
          wake = resolve
          signal.addEventListener('abort', () => resolve(), { once: true })
        })
        if (signal.aborted) return null
      }
    },
    stop: () => lines.close(),
  }
}

function promptOf({ card, waiting, hasAgent }: Question, columns: number): string[] {
  if (!card) return ['(nothing waits)']
  const choices = card.controls.flatMap(({ label, checked }, index) => {
    const box = checked === undefined ? '' : checked ? '[x] ' : '[ ] '
    const first = `  ${card.asks === null ? `${index + 1})` : '-'} ${box}`
    return markLines(label, columns, [first, '  │ '])
  })
  const more = waiting > 1 ? [`(${waiting - 1} more wait)`] : []
  return [...choices, ...more, ...markLines(hintOf(card, hasAgent), columns, ['? ', '│ '])]
}

function hintOf(card: Card, hasAgent: boolean): string {
  if (!isAnswerable(card)) return `You cannot answer this here. ${textGoes(hasAgent)}.`
  return card.asks ?? 'Choose by number or name, or type a text.'
}

function read(line: string, { card }: Question): Asked {
  const text = line.trim()
  if (text === '/quit' || text === '/detach') return { detach: true }
  // Where a text is asked for, it may be one.
  if (text === '?' && (card?.asks ?? null) === null) return { text: '/help' }
  const named = card?.controls.find(
    ({ label }) => same(label, text) || same(label.replace(/…$| \(\d+\)$/, ''), text),
  )
  if (named) return { control: named.id }
  // Where a text is waited for, a number is one.
  const numbered = card?.asks === null && /^\d{1,2}$/.test(text) ? card.controls[Number(text) - 1] : undefined
  return numbered ? { control: numbered.id } : { text: line }
}

function same(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}
