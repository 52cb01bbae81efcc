// @vitest-environment happy-dom
import { asked, settled } from '@askback/client/testing'
import { AskbackError, type Json, type KindPrompt } from '@askback/protocol'
import { screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { advanceTime, renderSession, setUpComponentTests } from '../render-session.test.helper.js'

setUpComponentTests()

const prompt: KindPrompt = {
  title: 'When does it suit you?',
  fields: [
    { name: 'slot', type: 'radio', required: true, options: [{ value: 'Mon' }, { value: 'Tue' }] },
    { name: 'servers', type: 'textarea', required: false },
  ],
  initialValues: {},
  nullable: [],
  json: ['servers'],
  single: false,
}
const prompts = { time_slot: prompt }
const timeSlot = (request: Json = { purpose: 'Release \u202e1.2' }) =>
  asked('i1', { kind: 'time_slot', request })
/** The form comes after the request, and its controls are armed after that. */
async function draw(options: Parameters<typeof renderSession>[0]) {
  const page = await renderSession(options)
  await advanceTime(400)
  return page
}
const submit = (): HTMLButtonElement => screen.getByRole('button', { name: 'Submit' })

it('shows the whole request, and sends the answer that its form makes', async () => {
  const { user, answers } = await draw({ events: timeSlot(), prompts })
  const card = screen.getByRole('group', { name: 'When does it suit you?' })
  expect(card.textContent).toContain('purpose')
  expect(card.textContent).toContain('U+202E')
  await user.click(submit())
  screen.getByText('Required.')
  await user.click(screen.getByRole('radio', { name: 'Tue' }))
  await user.type(screen.getByRole('textbox', { name: 'servers' }), '[[1]')
  await user.click(submit())
  await advanceTime(0)
  expect(answers()).toEqual([{ slot: 'Tue', servers: [1] }])
  screen.getByText('Tue')
})

it('shows hidden characters in a title, which may quote the agent', async () => {
  await draw({ events: timeSlot(), prompts: { time_slot: { ...prompt, title: 'When\u202e?' } } })
  screen.getByRole('group', { name: /U\+202E/ })
})

it('says beside the field that it holds no JSON, and sends nothing', async () => {
  const { user, answers } = await draw({ events: timeSlot(), prompts })
  await user.click(screen.getByRole('radio', { name: 'Mon' }))
  await user.type(screen.getByRole('textbox', { name: 'servers' }), 'soup')
  await user.click(submit())
  screen.getByText(/This is not JSON/)
  expect(answers()).toEqual([])
})

it('shows the text of the kind’s card in place of the request', async () => {
  const withText = { time_slot: { ...prompt, text: 'The release of *today*' } }
  const { container } = await draw({ events: timeSlot(), prompts: withText })
  expect(container.textContent).toContain('The release of today')
  expect(container.textContent).not.toContain('purpose')
})

it('cannot be answered before all of the request is shown', async () => {
  const { user } = await draw({ events: timeSlot({ log: 'x'.repeat(500_000) }), prompts })
  await user.click(screen.getByRole('radio', { name: 'Mon' }))
  expect(submit().disabled).toBe(true)
  await user.click(screen.getByRole('button', { name: /^Show all/ }))
  expect(submit().disabled).toBe(false)
})

it('keeps a draft over a reload', async () => {
  const { user, reload } = await draw({ events: timeSlot(), prompts })
  await user.click(screen.getByRole('radio', { name: 'Tue' }))
  await reload()
  expect(screen.getByRole<HTMLInputElement>('radio', { name: 'Tue' }).checked).toBe(true)
})

it('starts a reprompt with the refused answer, and its errors', async () => {
  const again = asked('i2', {
    kind: 'time_slot',
    request: {},
    errors: { slot: 'That is taken.' },
    progress: { slot: 'Tue' },
  })
  await draw({ events: again, prompts })
  screen.getByText('That is taken.')
  expect(screen.getByRole<HTMLInputElement>('radio', { name: 'Tue' }).checked).toBe(true)
})

it('of a kind that the gateway does not have any more says why, and can be cancelled', async () => {
  const { user, transport } = await draw({ events: timeSlot(), prompts: {} })
  screen.getByText(/does not have the kind “time_slot”/)
  expect(screen.queryByRole('button', { name: 'Submit' })).toBeNull()
  await user.click(screen.getByRole('button', { name: 'Cancel the request' }))
  await advanceTime(0)
  expect(transport.calls.some(({ method }) => method === 'cancel')).toBe(true)
  await advanceTime(0)
  expect(document.querySelector('[data-phase]')?.getAttribute('data-phase')).toBe('settled')
})

it('whose definition was removed while the page was open says why after an answer', async () => {
  const known: Record<string, KindPrompt> = { ...prompts }
  const { user } = await draw({
    events: timeSlot(),
    prompts: known,
    prepareTransport: (transport) =>
      transport.failNext('respond', new AskbackError('unknown_kind', 'It is not defined here.')),
  })
  await user.click(screen.getByRole('radio', { name: 'Mon' }))
  delete known['time_slot']
  await user.click(submit())
  await advanceTime(0)
  await advanceTime(0)
  screen.getByText(/does not have the kind “time_slot”/)
  known['time_slot'] = prompt
  await user.click(screen.getByRole('button', { name: 'Load the form again' }))
  await advanceTime(0)
  expect(screen.getByRole<HTMLInputElement>('radio', { name: 'Mon' }).checked).toBe(true)
})

it('whose form cannot be loaded can be loaded again', async () => {
  const { user } = await draw({
    events: timeSlot(),
    prompts,
    prepareTransport: (transport) =>
      transport.failNext('prompt', new AskbackError('unavailable', 'It is away.')),
  })
  screen.getByText(/The form could not be loaded/)
  await user.click(screen.getByRole('button', { name: 'Load the form again' }))
  await advanceTime(0)
  screen.getByRole('radio', { name: 'Mon' })
})

it('says what was answered elsewhere', async () => {
  const { play } = await draw({ events: timeSlot(), prompts })
  const how = { settlement: 'answered', answer: { slot: 'Mon' }, via: 'telegram' } as const
  await play(...settled('i1', { kind: 'time_slot', ...how }))
  screen.getByText('on Telegram')
  screen.getByText('Mon')
})

it('is drawn with the form if its renderer throws', async () => {
  const broken = () => {
    throw new Error('broken renderer')
  }
  await draw({ events: timeSlot(), prompts, renderers: { time_slot: broken } })
  screen.getByRole('radio', { name: 'Mon' })
})
