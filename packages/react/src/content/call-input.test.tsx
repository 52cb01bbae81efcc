// @vitest-environment happy-dom
import { asked } from '@askback/client/testing'
import type { Json, NewEvent } from '@askback/protocol'
import { screen } from '@testing-library/react'
import { expect, it, vi } from 'vitest'
import { advanceTime, renderSession, setUpComponentTests } from '../render-session.test.helper.js'

setUpComponentTests()

function approval(input: Json, toolName = 'Bash'): NewEvent[] {
  return asked('i1', { toolName, request: { input } })
}

function button(name: string): HTMLButtonElement {
  return screen.getByRole('button', { name })
}

it.each([
  ['Edit', 300, { old_string: 'a', new_string: 'b' }],
  ['MultiEdit', 300, { edits: [{ old_string: 'a', new_string: 'b' }] }],
  ['Write', 300, { content: 'a' }],
  ['Write', 10_000, { content: 'a' }],
])('shows the whole path, for %s and %i characters of it', async (toolName, length, change) => {
  const path = `/${'folder/'.repeat(length / 7)}.ssh/authorized_keys`
  await renderSession({ events: approval({ file_path: path, ...change }, toolName) })
  await vi.dynamicImportSettled()
  await advanceTime(0)
  expect(document.querySelector('.ab-code-block')?.textContent).toContain(path)
  expect(button('Approve once').disabled).toBe(false)
})

it('spells out hidden characters in the path of a patch', async () => {
  const changes = [{ path: '/a\u00a0.ts', kind: { type: 'delete' }, diff: 'x' }]
  await renderSession({ events: approval({ changes }, 'apply_patch') })
  await vi.dynamicImportSettled()
  await advanceTime(0)
  expect(document.querySelector('.ab-diff-note')?.textContent).toContain('U+00A0')
})

it('shows the size of a text, and none for a tree', async () => {
  await renderSession({ events: approval({ command: 'ls', timeout: 5 }) })
  const sizes = [...document.querySelectorAll('.ab-code-bar')].map(({ textContent }) => textContent)
  expect(sizes).toEqual(['Command1 line · 2 bytes', 'With'])
})

it('shows deeply nested JSON as text, as a tree would run out of width', async () => {
  let input: Json = 'rm -rf /'
  for (let level = 0; level < 20; level++) input = { [`level${level}`]: input }
  await renderSession({ events: approval(input, 'deploy') })
  expect(document.querySelector('.ab-json')).toBeNull()
  screen.getByText(/rm -rf/, { selector: 'pre' })
})

it('shows the path of a patch apart from labels, which it could imitate', async () => {
  const path = '/a.ts moved to /b.ts'
  const changes = [{ path, kind: { type: 'update' }, diff: '@@ -1 +1 @@\n-old\n+new\n' }]
  await renderSession({ events: approval({ changes }, 'apply_patch'), waitMs: 400 })
  await vi.dynamicImportSettled()
  await advanceTime(0)
  const note = document.querySelector('.ab-diff-note')!
  expect(note.querySelector('code')?.textContent).toBe(path)
  note.querySelector('code')!.remove()
  expect(note.textContent?.trim()).toBe('')
})

it.each([
  [{ edit_mode: 'delete' }, true],
  [{ edit_mode: 'replace', cell_type: 'markdown' }, true],
  [{ edit_mode: 'insert', cell_id: 'c1, edit_mode: replace' }, false],
  [{}, false],
])('shows a change of a notebook as JSON if a diff would not show all of it: %j', async (more, isJson) => {
  const input = { notebook_path: '/a.ipynb', new_source: 'print()', ...more }
  await renderSession({ events: approval(input, 'NotebookEdit'), waitMs: 400 })
  await vi.dynamicImportSettled()
  await advanceTime(0)
  expect(document.querySelector('.ab-json') !== null).toBe(isJson)
  expect(document.querySelector('.ab-diff') !== null).toBe(!isJson)
})

it('shows names of fields so that they are visible and cannot imitate labels', async () => {
  const input = { plain: 1, '': 2, 'The agent says': 3, nested: { 'a b': { c: 4 } } }
  await renderSession({ events: approval(input, 'deploy') })
  const names = [...document.querySelectorAll('.ab-json-name, .ab-json-toggle')]
  const shown = names.map(({ textContent }) => textContent)
  expect(shown).toEqual(['plain', '""', '"The agent says"', 'nested1 field', '"a b"1 field', 'c'])
})
