// @vitest-environment happy-dom
import { asked, scriptedTransport } from '@askback/client/testing'
import type { NewEvent } from '@askback/protocol'
import { render, screen } from '@testing-library/react'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { AskbackProvider, useLabels, type Labels } from './index.js'
import { advanceTime, renderSession, setUpComponentTests } from './render-session.test.helper.js'

setUpComponentTests()

const approval = asked('i1', { agentId: 'helper' })

it('shows the texts of the provider in place of the English ones, with values and elements in them', async () => {
  const labels = {
    'Approval needed': 'Freigabe nötig',
    'Approve once': 'Einmal erlauben',
    'asked by subagent {name}': 'von {name} gefragt',
  }
  await renderSession({ events: approval, labels })
  screen.getByRole('group', { name: 'Freigabe nötig' })
  screen.getByRole('button', { name: 'Einmal erlauben' })
  expect(document.querySelector('.ab-card-asker')?.textContent).toBe('von helper gefragt')
})

it('puts values in their places', async () => {
  const labels = { '{count} line': 'Zeilen: {count} {unknown}' }
  await renderSession({ events: asked('i1', { request: { input: { command: 'ls' } } }), labels })
  expect(document.querySelector('.ab-code-bar')?.textContent).toContain('Zeilen: 1 {unknown}')
})

it('shows other texts when they change', () => {
  const transport = scriptedTransport()
  const page = (labels: Labels) => (
    <AskbackProvider transport={transport} labels={labels}>
      <Word />
    </AskbackProvider>
  )
  const { rerender } = render(page({}))
  screen.getByText('Deny')
  rerender(page({ Deny: 'Ablehnen' }))
  screen.getByText('Ablehnen')
})

function Word() {
  return useLabels()('Deny')
}

it('shows the English text where there is no other', async () => {
  await renderSession({ events: approval, labels: { 'Approve once': 'Einmal erlauben' } })
  screen.getByRole('button', { name: 'Deny' })
  expect(screen.queryByRole('button', { name: 'Approve once' })).toBeNull()
})

/** Replaces every label by itself in guillemets, with its values. */
const marked = new Proxy({}, { get: (_, label) => `«${String(label)}»` })

it.each<[string, NewEvent[]]>([
  [
    'a diff',
    asked('i1', {
      toolName: 'Edit',
      request: {
        input: {
          file_path: 'AGENT',
          old_string: lines(60, 'AGENT'),
          new_string: `${lines(60, 'AGENT')}\nAGENT`,
        },
      },
    }),
  ],
  [
    'a long new file',
    asked('i1', {
      toolName: 'Write',
      request: { input: { file_path: 'AGENT', content: lines(200, 'AGENT', String) } },
    }),
  ],
  [
    'a command',
    asked('i1', {
      request: { input: { command: `AGENT${' '.repeat(99)}\u202e\n\n\n\n\n\nAGENT`, AGENT: true } },
    }),
  ],
  ['a long command', asked('i1', { request: { input: { command: lines(99, 'AGENT') } } })],
  [
    'JSON',
    asked('i1', {
      toolName: 'AGENT',
      request: { input: { AGENT: [1, { AGENT: 'AGENT' }], 'AGENT AGENT': {} } },
    }),
  ],
  [
    'Markdown',
    asked('i1', {
      kind: 'plan_review',
      request: {
        plan: `AGENT\n\n![](https://a.example)\n\n\`\`\`\nAGENT\n\`\`\`\n\n|AGENT|\n|-|\n|AGENT|\n\n${lines(250, 'AGENT', () => '\n')}`,
      },
    }),
  ],
])('every text of a card with %s can be replaced', async (_, events) => {
  await renderSession({ events, labels: marked })
  await vi.dynamicImportSettled()
  await advanceTime(0)
  const card = document.querySelector('.ab-card')!
  const walker = document.createTreeWalker(card, NodeFilter.SHOW_TEXT)
  const texts: string[] = []
  for (let node = walker.nextNode(); node; node = walker.nextNode()) texts.push(node.textContent ?? '')
  for (const element of card.querySelectorAll('*'))
    for (const name of ['aria-label', 'title', 'placeholder', 'alt'])
      texts.push(element.getAttribute(name) ?? '')
  // A label may have others as its values.
  const unmark = (text: string): string => {
    const rest = text.replaceAll(/«[^«»]*»/g, '')
    return rest === text ? text : unmark(rest)
  }
  const replaced = texts.map(unmark)
  const words = replaced.map((text) =>
    text.replaceAll(/AGENT|Bash|Edit|Write|U\+\w+|SHA-256|digest-i1|https:[^ )]*|true/g, ''),
  )
  expect(words.filter((text) => /\p{Letter}{2}/u.test(text))).toEqual([])
  expect(replaced).not.toEqual(texts)
})

it('no component has a text of its own', () => {
  const attribute = /\b(?:aria-label|title|placeholder|alt|label)="[^"]*\p{Letter}[^"]*"/gu
  const children = />[^<>{}=;]*\p{Letter}{2}[^<>{}=;]*<\//gu
  const found = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.tsx') && !path.includes('.test.'))
    .map((path) =>
      readFileSync(join(import.meta.dirname, path), 'utf8').replaceAll(
        /\/\*[^]*?\*\/|\/\/.*|<LabelWithNodes[^]*?\/>/g,
        '',
      ),
    )
    .flatMap((source) => [...source.matchAll(attribute), ...source.matchAll(children)].map(([text]) => text))
  expect(found).toEqual([])
})

function lines(count: number, text: string, more: (index: number) => string = () => ''): string {
  return Array.from({ length: count }, (_, index) => text + more(index)).join('\n')
}

it('every text of the catalogue is used', () => {
  const read = (path: string) => readFileSync(join(import.meta.dirname, path), 'utf8')
  const sources = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/u.test(path) && !/\.test\.|label-catalogue/u.test(path))
    .map(read)
    // The notes on a request have their texts in the protocol, for all surfaces.
    .concat(read('../../protocol/src/interaction.ts'))
    .join('\n')
  const texts = [...read('label-catalogue.ts').matchAll(/^ {2}\| '(.*)'$/gmu)].map(([, text = '']) => text)
  expect(texts.length).toBeGreaterThan(150)
  expect(texts.filter((text) => !sources.includes(`'${text}'`) && !sources.includes(`"${text}"`))).toEqual([])
})
