// @vitest-environment happy-dom
import { asked } from '@askback/client/testing'
import type { Json, NewEvent } from '@askback/protocol'
import { fireEvent, screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { advanceTime, renderSession, setUpComponentTests } from '../render-session.test.helper.js'

setUpComponentTests()

function approval(input: Json, toolName = 'Bash'): NewEvent[] {
  return asked('i1', { toolName, request: { input } })
}

function button(name: string): HTMLButtonElement {
  return screen.getByRole('button', { name })
}

const ls = { command: 'ls -la' }

it('denies with the reason only while it is shown, also after a reload', async () => {
  const { user, answers, reload } = await renderSession({ events: approval(ls) })
  await user.click(button('Deny with a reason…'))
  await user.type(screen.getByRole('textbox', { name: /Reason/ }), 'Not now')
  await advanceTime(300)
  await reload()
  screen.getByRole('textbox', { name: /Reason/ })
  screen.getByText('Not now')
  await user.click(button('Back'))
  expect(screen.queryByText('Not now')).toBeNull()
  await user.click(button('Deny'))
  expect(answers()).toEqual([{ decision: 'deny' }])
})

it.each<[string, Json, string]>([
  ['command', ls, 'ls -la'],
  ['JSON, but for its blanks', { a: 1 }, '{"a":1}'],
])('approves an edited %s that equals the original as if it had not been edited', async (_, input, text) => {
  const { user, answers } = await renderSession({ events: approval(input) })
  await user.click(screen.getByRole('radio', { name: 'This session' }))
  await user.click(button('Edit…'))
  fireEvent.change(screen.getByRole('textbox'), { target: { value: text } })
  await user.click(button('Approve once'))
  expect(answers()).toEqual([{ decision: 'approve', scope: 'once' }])
})

it('the key A does nothing while a reason for a denial is open', async () => {
  const { user, answers } = await renderSession({ events: approval(ls) })
  await user.click(button('Deny with a reason…'))
  document.querySelector<HTMLElement>('.ab-card')!.focus()
  await user.keyboard('a')
  expect(answers()).toEqual([])
})

it.each(['Edit…', 'Deny with a reason…'])('a stored draft of “%s” does not take the focus', async (name) => {
  const { user, reload } = await renderSession({ events: approval(ls) })
  await user.click(button(name))
  await user.keyboard('Not now')
  await advanceTime(300)
  await reload()
  screen.getByRole('textbox')
  expect(document.activeElement).toBe(document.body)
})
