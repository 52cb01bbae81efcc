// @vitest-environment happy-dom
import { asked, askedQuestion, settled } from '@askback/client/testing'
import type { NewEvent } from '@askback/protocol'
import { fireEvent, screen } from '@testing-library/react'
import { expect, it, onTestFinished, vi } from 'vitest'
import { pass, show, stillTime } from '../show.test.helper.js'

stillTime()

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
  const shown = await show({ events })
  if (first !== null) fireEvent.click(screen.getByRole('button', { name: first }))
  fireEvent.change(screen.getByLabelText(label), { target: { value: 'half a word' } })
  await pass(300)
  return shown
}

it.each(cases)('a %s that times out keeps what was typed at hand', async (kind, events, first, label) => {
  const { play } = await halfTyped(events, first, label)
  await play(...settled('i1', { kind, settlement: 'timed_out' }))
  screen.getByText('Not sent:')
  screen.getByText('half a word')
  const writeText = vi.fn<() => Promise<void>>(() => Promise.resolve())
  vi.stubGlobal('navigator', { clipboard: { writeText } })
  onTestFinished(() => void vi.unstubAllGlobals())
  fireEvent.click(screen.getByRole('button', { name: 'Copy' }))
  await pass(0)
  expect(writeText).toHaveBeenCalledWith('half a word')
  screen.getByRole('button', { name: 'Copied' })
})

it('nothing is left unsent of an answer that was sent, and nothing is shown where nothing was typed', async () => {
  const { play, user, answers } = await halfTyped(...(cases[0]!.slice(1) as [NewEvent[], null, string]))
  await user.click(screen.getByRole('button', { name: 'Submit' }))
  await pass(0)
  expect(answers()).toHaveLength(1)
  screen.getByText('Answered:')
  await play(...asked('i2'), ...settled('i2', { settlement: 'timed_out' }))
  expect(screen.queryByText('Not sent:')).toBeNull()
})
