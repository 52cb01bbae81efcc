import type { Interaction } from '@askback/protocol'
import { expect, it } from 'vitest'
import { Asked, NotAnswered, type AskOutcome, type MissingAnswer } from './asked.js'

const interaction = { interactionId: 'i' } as Interaction
const missing: MissingAnswer = {
  ok: false,
  reason: 'timed_out',
  message: 'Nobody answered in time.',
  interaction,
}

it('is the value when it is awaited, and the outcome on request', async () => {
  const asked = Asked.of(Promise.resolve({ ok: true as const, value: 7, interaction }))
  expect(await asked).toBe(7)
  expect(await asked.outcome()).toEqual({ ok: true, value: 7, interaction })
})

it('throws NotAnswered with everything that is known', async () => {
  const asked = Asked.of(Promise.resolve<AskOutcome<number>>(missing))
  const error: unknown = await asked.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(NotAnswered)
  expect(error).toMatchObject({
    reason: 'timed_out',
    message: 'Nobody answered in time.',
    interaction,
    outcome: missing,
  })
})

it('a failure rejects both ways', async () => {
  const failure = new Error('no network')
  const asked = Asked.of(Promise.reject<AskOutcome<number>>(failure))
  await expect(asked.outcome()).rejects.toBe(failure)
  await expect(asked).rejects.toBe(failure)
})

it('an ending that nobody looks at is reported as an unhandled rejection, unless the outcome was asked for', async () => {
  const reported: unknown[] = []
  const others = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  process.on('unhandledRejection', (error) => reported.push(error))
  try {
    void Asked.of(Promise.resolve<AskOutcome<number>>({ ...missing, reason: 'denied' }))
    await Asked.of(Promise.resolve<AskOutcome<number>>(missing)).outcome()
    await new Promise((resolve) => setTimeout(resolve, 10))
  } finally {
    process.removeAllListeners('unhandledRejection')
    for (const listener of others) process.on('unhandledRejection', listener)
  }
  expect(reported).toEqual([expect.objectContaining({ reason: 'denied' })])
})

it('what follows it is a plain promise', () => {
  const asked = Asked.of(Promise.resolve({ ok: true as const, value: 7, interaction }))
  expect(asked).toBeInstanceOf(Promise)
  expect(asked.then(String)).not.toBeInstanceOf(Asked)
})
