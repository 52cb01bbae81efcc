// @vitest-environment happy-dom
import { asked, settled } from '@askback/client/testing'
import { AskbackError, type Json } from '@askback/protocol'
import { screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { pass, show, stillTime } from '../show.test.helper.js'

stillTime()

const poll = (request: Json = { about: 'lunch' }) => asked('i1', { kind: 'poll', request })

function submit(): HTMLButtonElement {
  return screen.getByRole('button', { name: 'Submit' })
}

function field(): HTMLTextAreaElement {
  return screen.getByRole('textbox', { name: 'Your answer, as JSON' })
}

describe('a kind that nobody here knows', () => {
  it('is shown as JSON, and answered in JSON', async () => {
    const { user, answers } = await show({ events: poll() })
    screen.getByText(/"about": "lunch"/)
    expect(submit().disabled).toBe(true)
    await user.type(field(), '{{"choice": "soup"}')
    await user.click(submit())
    await pass(0)
    expect(answers()).toEqual([{ choice: 'soup' }])
    screen.getByText(/"choice": "soup"/)
  })

  it('takes nothing that is no JSON, and says why', async () => {
    const { user, answers } = await show({ events: poll() })
    await user.type(field(), 'soup')
    await user.tab()
    screen.getByText(/This is not JSON yet/)
    expect(submit().disabled).toBe(true)
    expect(answers()).toEqual([])
  })

  it('keeps what the gateway refuses, and sends what it was changed to', async () => {
    const { user, answers } = await show({
      events: poll(),
      change: (transport) =>
        transport.failNext('respond', new AskbackError('invalid_answer', 'No such soup.')),
    })
    await user.type(field(), '1')
    await user.click(submit())
    await pass(0)
    screen.getByText(/No such soup/)
    expect(field().value).toBe('1')
    await user.type(field(), '2')
    await user.click(screen.getByRole('button', { name: 'Try again' }))
    expect(answers()).toEqual([1, 12])
  })

  it('survives a reload half written', async () => {
    const { user, reload } = await show({ events: poll() })
    await user.type(field(), '[[1,')
    await reload()
    expect(field().value).toBe('[1,')
  })

  it('cannot be answered before all of it is shown', async () => {
    const { user } = await show({ events: poll('x'.repeat(500_000)) })
    await user.type(field(), '1')
    expect(submit().disabled).toBe(true)
    await user.click(screen.getByRole('button', { name: 'Show all 500,002 characters' }))
    expect(submit().disabled).toBe(false)
  })

  it('says how it ended elsewhere', async () => {
    const { play } = await show({ events: poll() })
    await play(...settled('i1', { kind: 'poll', settlement: 'answered', answer: 'soup', via: 'cli' }))
    screen.getByText('on the command line')
    screen.getByText('"soup"')
  })
})

it('a request of a kind of ours that cannot be drawn is not answered in JSON', async () => {
  await show({ events: asked('i1', { request: { nothing: true } }) })
  screen.getByText(/can’t show/)
  expect(screen.queryByRole('textbox')).toBeNull()
})
