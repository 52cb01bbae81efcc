// @vitest-environment happy-dom
import { asked, askedQuestion, scriptedTransport, settled } from '@askback/client/testing'
import type { NewEvent } from '@askback/protocol'
import { fireEvent, render, screen } from '@testing-library/react'
import { expect, it, onTestFinished, vi } from 'vitest'
import { Conversation, AskbackProvider } from '../index.js'
import { advanceTime, renderSession, setUpComponentTests } from '../render-session.test.helper.js'

setUpComponentTests()

const ada = { id: 'p1', name: 'root' }

async function outcome(settlement: Parameters<typeof settled>[1], personId?: string): Promise<string> {
  const transport = scriptedTransport()
  transport.play('s1', ...asked('i1'), ...settled('i1', settlement))
  render(
    <AskbackProvider transport={transport} {...(personId !== undefined && { personId })}>
      <Conversation sessionId="s1" />
    </AskbackProvider>,
  )
  await advanceTime(0)
  const text = document.querySelector('.ab-outcome-text')
  return [...(text?.children ?? [])].map(({ textContent }) => textContent).join(' ')
}

it.each([
  ['p1', 'Denied by you in the browser'],
  ['p2', 'Denied by root in the browser'],
  [undefined, 'Denied by root in the browser'],
])('a decision of p1 is shown to %s as: %s', async (personId, words) => {
  expect(await outcome({ settlement: 'denied', by: ada, via: 'web' }, personId)).toBe(words)
})

it.each([
  ['p1', 'You stopped this'],
  ['p2', 'Cancelled by root in the browser'],
])('a request that p1 cancelled is shown to %s as: %s', async (personId, words) => {
  expect(await outcome({ settlement: 'cancelled', by: ada, via: 'web' }, personId)).toBe(words)
})

it('a request that nobody cancelled is said to be no longer needed', async () => {
  expect(await outcome({ settlement: 'cancelled' })).toBe('Cancelled: the agent no longer waits for this')
  expect(screen.queryByText(/You stopped/)).toBeNull()
})

const questions = [{ question: 'Who?', options: [] }]
const fields = [{ name: 'a', type: 'text', label: 'Name' }]
const cases: [string, NewEvent[], string | null, string][] = [
  ['question', askedQuestion('i1', { request: { questions } }), null, 'Your answer'],
  ['approval', asked('i1'), 'Deny with a reason…', 'Reason for the denial'],
  [
    'plan_review',
    asked('i1', { kind: 'plan_review', request: { plan: 'x' } }),
    'Adjust…',
    'Feedback on the plan',
  ],
  ['form', asked('i1', { kind: 'form', request: { message: '', schema: { fields } } }), null, 'Name'],
  ['color', asked('i1', { kind: 'color', request: {} }), null, 'Your answer, as JSON'],
]

async function halfTyped(events: NewEvent[], first: string | null, label: string) {
  const shown = await renderSession({ events })
  if (first !== null) fireEvent.click(screen.getByRole('button', { name: first }))
  fireEvent.change(screen.getByLabelText(label), { target: { value: 'half a word' } })
  await advanceTime(300)
  return shown
}

it.each(cases)('a %s that times out still shows what was typed', async (kind, events, first, label) => {
  const { play } = await halfTyped(events, first, label)
  await play(...settled('i1', { kind, settlement: 'timed_out' }))
  screen.getByText('Not sent:')
  screen.getByText('half a word')
  const writeText = vi.fn<() => Promise<void>>(() => Promise.resolve())
  vi.stubGlobal('navigator', { clipboard: { writeText } })
  onTestFinished(() => void vi.unstubAllGlobals())
  fireEvent.click(screen.getByRole('button', { name: 'Copy' }))
  await advanceTime(0)
  expect(writeText).toHaveBeenCalledWith('half a word')
  screen.getByRole('button', { name: 'Copied' })
})

it('shows no unsent text after an answer was sent, or if nothing was typed', async () => {
  const { play, user, answers } = await halfTyped(...(cases[0]!.slice(1) as [NewEvent[], null, string]))
  await user.click(screen.getByRole('button', { name: 'Submit' }))
  await advanceTime(0)
  expect(answers()).toHaveLength(1)
  screen.getByText('Answered:')
  await play(...asked('i2'), ...settled('i2', { settlement: 'timed_out' }))
  expect(screen.queryByText('Not sent:')).toBeNull()
})
