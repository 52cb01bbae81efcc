// @vitest-environment happy-dom
import { asked } from '@askback/client/testing'
import { AskbackError, type Json } from '@askback/protocol'
import { cleanup, fireEvent, screen } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'
import { moduleRenderer, type RendererModule } from '../index.js'
import { advanceTime, renderSession, setUpComponentTests } from '../render-session.test.helper.js'

setUpComponentTests()
afterEach(() => vi.restoreAllMocks())

type TimeSlot = RendererModule<{ slots: string[] }, { slot: string }>

/** As an operator writes it: no import, and the React of the page. */
const timeSlot: TimeSlot = ({ React }) =>
  function Slots({ request, answer, onChange, canAnswer }) {
    return request.slots.map((slot) =>
      React.createElement(
        'button',
        {
          key: slot,
          type: 'button',
          disabled: !canAnswer,
          'aria-pressed': answer?.slot === slot,
          onClick: () => onChange(answer?.slot === slot ? undefined : { slot }),
        },
        slot,
      ),
    )
  }

const events = asked('i1', {
  kind: 'time_slot',
  presentation: 'questionnaire',
  request: { slots: ['Monday', 'Tuesday'] },
})
const render = (load: () => Promise<unknown>) =>
  renderSession({ renderers: { time_slot: moduleRenderer(load, 'Time slot') }, events })
const submit = () => screen.getByRole<HTMLButtonElement>('button', { name: 'Submit' })

it('draws the request in a card of the page, whose button sends what was chosen', async () => {
  const { answers } = await render(async () => ({ default: timeSlot }))
  await advanceTime(500)
  screen.getByRole('group', { name: 'Time slot' })
  expect(submit().disabled).toBe(true)
  fireEvent.click(screen.getByRole('button', { name: 'Tuesday' }))
  expect(screen.getByRole('button', { name: 'Tuesday' }).getAttribute('aria-pressed')).toBe('true')
  fireEvent.click(submit())
  await advanceTime(0)
  expect(answers()).toEqual([{ slot: 'Tuesday' }])
})

it('shows hidden characters in the title of the kind', async () => {
  const renderer = moduleRenderer(async () => ({ default: timeSlot }), 'Time \u202eslot')
  await renderSession({ renderers: { time_slot: renderer }, events })
  await advanceTime(500)
  screen.getByRole('group', { name: /U\+202E/ })
})

it('disables the button again if the component takes the answer back', async () => {
  await render(async () => ({ default: timeSlot }))
  await advanceTime(500)
  fireEvent.click(screen.getByRole('button', { name: 'Tuesday' }))
  expect(submit().disabled).toBe(false)
  fireEvent.click(screen.getByRole('button', { name: 'Tuesday' }))
  expect(submit().disabled).toBe(true)
})

it('says that it is loading', async () => {
  await render(() => new Promise(() => undefined))
  await advanceTime(500)
  screen.getByText('Loading…')
})

it('submits no draft of an earlier visit before the request is drawn', async () => {
  let isReachable = true
  const load = () => (isReachable ? Promise.resolve({ default: timeSlot }) : new Promise(() => undefined))
  const first = await render(load)
  await advanceTime(500)
  fireEvent.click(screen.getByRole('button', { name: 'Tuesday' }))
  expect(submit().disabled).toBe(false)
  await advanceTime(500)
  cleanup()
  isReachable = false
  const second = await render(load)
  await advanceTime(500)
  screen.getByText('Loading…')
  expect(submit().disabled).toBe(true)
  expect([...first.answers(), ...second.answers()]).toEqual([])
})

it('shows the general form if the module does not come in time, also if it comes later', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => undefined)
  let arrive: (module: unknown) => void = () => undefined
  await render(() => new Promise((resolve) => (arrive = resolve)))
  await advanceTime(15_000)
  screen.getByText('The drawing of this kind could not be loaded, so this is its general form.')
  arrive({ default: timeSlot })
  await advanceTime(500)
  // What somebody types into the form must not be replaced.
  screen.getByText('The drawing of this kind could not be loaded, so this is its general form.')
})

it('submits nothing if the component last passed something that is not JSON', async () => {
  const failures: unknown[] = []
  const careless: RendererModule = ({ React }) =>
    function Careless({ onChange }) {
      const choose = (answer: unknown) => () => {
        try {
          onChange(answer as Json)
        } catch (error) {
          failures.push(error)
        }
      }
      return [{ slot: 'Monday' }, { slot: new Date(0) }].map((answer, index) =>
        React.createElement(
          'button',
          { key: index, type: 'button', onClick: choose(answer) },
          `Slot ${index}`,
        ),
      )
    }
  const { answers } = await render(async () => ({ default: careless }))
  await advanceTime(500)
  fireEvent.click(screen.getByRole('button', { name: 'Slot 0' }))
  expect(submit().disabled).toBe(false)
  fireEvent.click(screen.getByRole('button', { name: 'Slot 1' }))
  expect(submit().disabled).toBe(true)
  fireEvent.click(submit())
  await advanceTime(0)
  expect(answers()).toEqual([])
  expect(failures).toEqual([expect.objectContaining({ code: 'invalid_request' })])
})

it('of a kind that was removed while the page was open says why, and can be cancelled', async () => {
  const { transport } = await renderSession({
    renderers: { time_slot: moduleRenderer(async () => ({ default: timeSlot }), 'Time slot') },
    events,
    prompts: {},
    prepareTransport: (given) =>
      given.failNext('respond', new AskbackError('unknown_kind', 'It is not defined here.')),
  })
  await advanceTime(500)
  fireEvent.click(screen.getByRole('button', { name: 'Tuesday' }))
  fireEvent.click(submit())
  await advanceTime(500)
  screen.getByText(/does not have the kind “time_slot”/)
  fireEvent.click(screen.getByRole('button', { name: 'Cancel the request' }))
  await advanceTime(0)
  expect(transport.calls.some(({ method }) => method === 'cancel')).toBe(true)
})

it.each<[string, () => Promise<unknown>]>([
  ['cannot be loaded', () => Promise.reject(new TypeError('Failed to fetch'))],
  ['exports nothing', async () => ({})],
  ['exports no function', async () => ({ default: { render: 1 } })],
  ['returns no component', async () => ({ default: () => 'text' })],
])('shows the general form with one sentence if the module %s', async (_, load) => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  await render(load)
  await advanceTime(500)
  screen.getByText('The drawing of this kind could not be loaded, so this is its general form.')
  screen.getByText(/can’t show/)
  expect(log).toHaveBeenCalledOnce()
})

it('shows the general form with one sentence if the component throws, also later', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => undefined)
  const fragile: TimeSlot = (tools) => {
    const Slots = timeSlot(tools)
    return (props) => {
      if (props.answer) throw new Error('broken')
      return tools.React.createElement(Slots, props)
    }
  }
  await render(async () => ({ default: fragile }))
  await advanceTime(500)
  fireEvent.click(screen.getByRole('button', { name: 'Tuesday' }))
  screen.getByText('The drawing of this kind failed, so this is its general form.')
  screen.getByText(/can’t show/)
})
