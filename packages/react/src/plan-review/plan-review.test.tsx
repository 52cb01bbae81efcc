// @vitest-environment happy-dom
import { asked, settled } from '@askback/client/testing'
import { fireEvent, screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { advanceTime, renderSession, setUpComponentTests } from '../render-session.test.helper.js'

setUpComponentTests()

const plan = '# Move\n\n1. Write **tests**\n2. Move'
const events = asked('i1', {
  kind: 'plan_review',
  presentation: 'questionnaire',
  toolName: 'ExitPlanMode',
  request: { plan },
})

function press(name: string): void {
  fireEvent.click(screen.getByRole('button', { name }))
}

it('shows the plan as Markdown', async () => {
  await renderSession({ events })
  screen.getByRole('heading', { name: 'Move' })
  expect(screen.getAllByRole('listitem')).toHaveLength(2)
})

it.each([
  ['Proceed', 'edit'],
  ['Proceed with a fresh context', 'clean_edit'],
  ['Approve, but ask before edits', 'default'],
])('“%s” decides `%s`', async (name, decision) => {
  const { answers } = await renderSession({ events })
  press(name)
  await advanceTime(0)
  expect(answers()).toEqual([{ decision }])
})

it.each([
  ['of many paragraphs', Array.from({ length: 210 }, (_, line) => `Step ${line}`).join('\n\n')],
  ['with a long block of code', `\`\`\`\n${'x\n'.repeat(50_000)}\`\`\``],
  ['on one endless line', 'x'.repeat(500_000)],
])('a plan %s must be unfolded to its end before it can be approved', async (_name, long) => {
  const request = { plan: long }
  const { answers } = await renderSession({
    events: asked('i1', { kind: 'plan_review', presentation: 'questionnaire', request }),
  })
  const proceed = ['Proceed', 'Proceed with a fresh context', 'Approve, but ask before edits'].map((name) =>
    screen.getByRole<HTMLButtonElement>('button', { name }),
  )
  expect(proceed.map(({ disabled }) => disabled)).toEqual([true, true, true])
  expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Adjust…' }).disabled).toBe(false)
  fireEvent.click(screen.getByRole('button', { name: /Show all/ }))
  await advanceTime(0)
  expect(proceed.map(({ disabled }) => disabled)).toEqual([false, false, false])
  press('Proceed')
  await advanceTime(0)
  expect(answers()).toEqual([{ decision: 'edit' }])
})

it('adjusts with feedback, and not without', async () => {
  const { user, answers } = await renderSession({ events })
  press('Adjust…')
  const send = screen.getByRole<HTMLButtonElement>('button', { name: 'Send feedback' })
  expect(send.disabled).toBe(true)
  await user.type(screen.getByRole('textbox', { name: /Feedback/ }), 'Smaller steps')
  await user.click(send)
  expect(answers()).toEqual([{ decision: 'adjust', feedback: 'Smaller steps' }])
})

it('sends only the feedback when an edited plan is adjusted', async () => {
  const { user, answers } = await renderSession({ events })
  press('Edit the plan')
  fireEvent.change(screen.getByRole('textbox'), { target: { value: '# Stay' } })
  press('Adjust…')
  await user.type(screen.getByRole('textbox', { name: /Feedback/ }), 'Smaller steps')
  screen.getByText(/not your edit/)
  press('Send feedback')
  await advanceTime(0)
  expect(answers()).toEqual([{ decision: 'adjust', feedback: 'Smaller steps' }])
})

it('keeps the feedback over a reload', async () => {
  const { user, reload } = await renderSession({ events })
  press('Adjust…')
  await user.type(screen.getByRole('textbox', { name: /Feedback/ }), 'Smaller')
  await advanceTime(300)
  await reload()
  expect(screen.getByRole<HTMLTextAreaElement>('textbox').value).toBe('Smaller')
})

it.each(['Adjust…', 'Edit the plan'])('a stored draft of “%s” does not take the focus', async (name) => {
  const { user, reload } = await renderSession({ events })
  press(name)
  await user.keyboard('Smaller')
  await advanceTime(300)
  await reload()
  screen.getByRole('textbox')
  expect(document.activeElement).toBe(document.body)
})

it('sends the plan as it was edited', async () => {
  const { answers } = await renderSession({ events })
  press('Edit the plan')
  fireEvent.change(screen.getByRole('textbox'), { target: { value: '# Stay' } })
  await advanceTime(0)
  press('Proceed')
  await advanceTime(0)
  expect(answers()).toEqual([{ decision: 'edit', updatedPlan: '# Stay' }])
})

it('collapses to the decision and the feedback, with a button that shows the plan', async () => {
  const answer = { decision: 'adjust', feedback: 'Smaller steps' }
  await renderSession({
    events: [...events, ...settled('i1', { kind: 'plan_review', settlement: 'denied', answer })],
  })
  screen.getByText('Changes requested')
  expect(document.querySelector('[data-tone=bad]')).toBeNull()
  screen.getByText('Smaller steps')
  expect(screen.queryByRole('heading', { name: 'Move' })).toBeNull()
  press('Show the plan')
  screen.getByRole('heading', { name: 'Move' })
})

it('Escape moves the focus from the feedback and the editor to the card', async () => {
  const { user } = await renderSession({ events })
  for (const name of ['Adjust…', 'Edit the plan']) {
    await user.click(screen.getByRole('button', { name }))
    await user.keyboard('More')
    fireEvent.keyDown(document.activeElement!, { key: 'Escape', isComposing: true })
    expect(document.activeElement?.tagName).toBe('TEXTAREA')
    await user.keyboard('{Escape}')
    expect(document.activeElement?.className).toBe('ab-card')
  }
  expect(screen.getByRole<HTMLTextAreaElement>('textbox').value).toBe(`${plan}More`)
})
