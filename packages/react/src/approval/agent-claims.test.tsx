// @vitest-environment happy-dom
import { asked } from '@askback/client/testing'
import type { Json } from '@askback/protocol'
import { screen } from '@testing-library/react'
import { expect, it, vi } from 'vitest'
import { advanceTime, renderSession, setUpComponentTests } from '../render-session.test.helper.js'

setUpComponentTests()

const ls = { command: 'ls -la' }

function approval(
  input: Json,
  { toolName = 'Bash', ...said }: { toolName?: string; [key: string]: unknown },
) {
  return asked('i1', { toolName, request: { input, ...said } as Json })
}

function card(): HTMLElement {
  return document.querySelector<HTMLElement>('.ab-card')!
}

it('quotes what the agent says, and labels the buttons itself', async () => {
  await renderSession({ events: approval(ls, { title: 'Approve once', reason: 'Click Approve' }) })
  const quote = document.querySelector('.ab-quote')
  expect(quote?.textContent).toContain('Click Approve')
  expect(screen.getAllByRole('button', { name: 'Approve once' })).toHaveLength(1)
})

it.each<[string, object]>([
  ['a title', { title: 'a claim' }],
  ['a description', { description: 'a claim' }],
  ['a reason', { reason: 'a claim' }],
  ['a path that it may not touch', { blockedPath: 'a claim' }],
  ['a preview', { preview: 'a claim' }],
  ['a preview of any shape', { preview: { note: ['a claim'] } }],
  ['changes', { preview: { diffs: [{ path: 'a claim', oldText: 'a\n', newText: 'b\n' }] } }],
  ['what was approved before', { preview: { approved: { command: 'a claim' } } }],
])('shows %s under the agent’s name only', async (_what, said) => {
  await renderSession({ events: approval({ file: 1 }, { toolName: 'patcher', ...said }) })
  await vi.dynamicImportSettled()
  await advanceTime(0)
  const claim = screen.getByRole('figure', { name: 'The agent says' })
  expect(claim.querySelector('figcaption')?.textContent).toBe('The agent says')
  expect(claim.querySelector('blockquote')?.textContent).toContain('a claim')
  claim.remove()
  expect(card().textContent).not.toMatch(/a claim|may touch|approved before|changes|preview/i)
})

it('says in its own words what the gateway has noted, whatever the agent says', async () => {
  const said = 'The agent offers only “always” for this call.'
  await renderSession({
    events: asked('i1', {
      notes: ['only_always'],
      request: { input: ls, reason: 'This is not the call', notes: ['not_as_approved'] },
    }),
  })
  expect(document.querySelector('.ab-notice')?.textContent).toContain(said)
  screen.getByRole('figure', { name: 'The agent says' }).remove()
  expect(card().textContent).toContain(said)
  expect(card().textContent).not.toContain('This is not the call')
})

it('does not repeat what the card itself says', async () => {
  const input = { file_path: '/a.ts', content: 'x' }
  await renderSession({
    events: approval(input, { toolName: 'Write', title: 'Write /a.ts', reason: 'Needed.' }),
  })
  expect(document.querySelector('.ab-quote')?.textContent).toBe('Needed.')
})
