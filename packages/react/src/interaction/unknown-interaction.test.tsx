// @vitest-environment happy-dom
import { asked, settled } from '@askback/client/testing'
import { AskbackError, type Json } from '@askback/protocol'
import { screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { advanceTime, renderSession, setUpComponentTests } from '../render-session.test.helper.js'

setUpComponentTests()

const poll = (request: Json = { about: 'lunch' }) => asked('i1', { kind: 'poll', request })

function submit(): HTMLButtonElement {
  return screen.getByRole('button', { name: 'Submit' })
}

function field(): HTMLTextAreaElement {
  return screen.getByRole('textbox', { name: 'Your answer, as JSON' })
}

describe('an unknown kind', () => {
  it('is shown as JSON, and answered in JSON', async () => {
    const { user, answers } = await renderSession({ events: poll() })
    screen.getByText(/"about": "lunch"/)
    expect(submit().disabled).toBe(true)
    await user.type(field(), '{{"choice": "soup"}')
    await user.click(submit())
    await advanceTime(0)
    expect(answers()).toEqual([{ choice: 'soup' }])
    screen.getByText(/"choice": "soup"/)
  })

  it('refuses text that is not JSON, and says why', async () => {
    const { user, answers } = await renderSession({ events: poll() })
    await user.type(field(), 'soup')
    await user.tab()
    screen.getByText(/This is not JSON yet/)
    expect(submit().disabled).toBe(true)
    expect(answers()).toEqual([])
  })

  it('keeps a refused answer, and sends it after a change', async () => {
    const { user, answers } = await renderSession({
      events: poll(),
      prepareTransport: (transport) =>
        transport.failNext('respond', new AskbackError('invalid_answer', 'No such soup.')),
    })
    await user.type(field(), '1')
    await user.click(submit())
    await advanceTime(0)
    screen.getByText(/No such soup/)
    expect(field().value).toBe('1')
    await user.type(field(), '2')
    await user.click(screen.getByRole('button', { name: 'Try again' }))
    expect(answers()).toEqual([1, 12])
  })

  it('keeps a draft over a reload', async () => {
    const { user, reload } = await renderSession({ events: poll() })
    await user.type(field(), '[[1,')
    await reload()
    expect(field().value).toBe('[1,')
  })

  it('cannot be answered before all of the request is shown', async () => {
    const { user } = await renderSession({ events: poll('x'.repeat(500_000)) })
    await user.type(field(), '1')
    expect(submit().disabled).toBe(true)
    await user.click(screen.getByRole('button', { name: 'Show all 500,002 characters' }))
    expect(submit().disabled).toBe(false)
  })

  it('says how it was settled elsewhere', async () => {
    const { play } = await renderSession({ events: poll() })
    await play(...settled('i1', { kind: 'poll', settlement: 'answered', answer: 'soup', via: 'cli' }))
    screen.getByText('on the command line')
    screen.getByText('"soup"')
  })
})

it('an invalid request of a built-in kind cannot be answered as JSON', async () => {
  await renderSession({ events: asked('i1', { request: { nothing: true } }) })
  screen.getByText(/can’t show/)
  expect(screen.queryByRole('textbox')).toBeNull()
})
