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
