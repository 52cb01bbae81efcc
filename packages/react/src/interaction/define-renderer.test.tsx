// @vitest-environment happy-dom
import { asked } from '@askback/client/testing'
import type { Json } from '@askback/protocol'
import { fireEvent, screen } from '@testing-library/react'
import { expect, expectTypeOf, it } from 'vitest'
import { defineRenderer, InteractionCard, SubmitButton } from '../index.js'
import { advanceTime, renderSession, setUpComponentTests } from '../render-session.test.helper.js'

setUpComponentTests()

interface Slots {
  slots: string[]
}

/** A kind as `defineInteraction` returns it, with a Standard Schema written by hand. */
const timeSlot = {
  kind: 'time_slot',
  request: {
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      types: undefined as { input: unknown; output: Slots } | undefined,
      validate: (value: unknown) =>
        Array.isArray((value as Partial<Slots>).slots)
          ? { value: value as Slots }
          : { issues: [{ message: 'no slots' }] },
    },
  },
  answer: {
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      types: undefined as { input: unknown; output: { slot: string } } | undefined,
      validate: (value: unknown) => ({ value: value as { slot: string } }),
    },
  },
}

const TimeSlot = defineRenderer(timeSlot, ({ request, control, open }) => {
  expectTypeOf(request).toEqualTypeOf<Slots>()
  expectTypeOf(control.respond).parameter(0).toEqualTypeOf<{ slot: string }>()
  return (
    <InteractionCard control={control} open={open} icon={null} title="When?">
      {request.slots.map((slot) => (
        <SubmitButton key={slot} control={control} onPress={() => void control.respond({ slot })}>
          {slot}
        </SubmitButton>
      ))}
    </InteractionCard>
  )
})
const renderers = { time_slot: TimeSlot }
const request = (value: Json) =>
  asked('i1', { kind: 'time_slot', presentation: 'questionnaire', request: value })

it('gives a component the request of its kind, and sends its answer', async () => {
  const { answers } = await renderSession({ renderers, events: request({ slots: ['Monday', 'Tuesday'] }) })
  fireEvent.click(screen.getByRole('button', { name: 'Tuesday' }))
  await advanceTime(0)
  expect(answers()).toEqual([{ slot: 'Tuesday' }])
})

it('shows a request that does not fit the kind as JSON', async () => {
  await renderSession({ renderers, events: request({ days: 2 }) })
  screen.getByText(/can’t show/)
  expect(screen.queryByText('When?')).toBeNull()
})
