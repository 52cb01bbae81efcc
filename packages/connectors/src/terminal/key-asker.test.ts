import type { Card } from '@askback/core'
import { fakeClock } from '@askback/core/testing'
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { keyAsker } from './key-asker.js'

const card: Card = {
  cardId: 'card',
  sessionId: 'session',
  interactionId: 'interaction',
  kind: 'approval',
  from: 'Release',
  title: 'Approve Bash?',
  parts: [{ as: 'code', text: 'rm -rf /' }],
  controls: [
    { id: 'approve', label: 'Approve', role: 'approve' },
    { id: 'deny', label: 'Deny', role: 'deny' },
  ],
  asks: null,
}

it('takes no key that was on its way when the card came', async () => {
  const input = new PassThrough()
  const output = new PassThrough()
  const clock = fakeClock()
  const asked = keyAsker({ input, output, clock }).ask({ card, waiting: 1 }, new AbortController().signal)
  const pressed = async (key: string) => {
    input.write(key)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await pressed('a')
  clock.advance(299)
  await pressed('1')
  await pressed('\r')
  clock.advance(1)
  await pressed('d')
  expect(await asked).toEqual({ control: 'deny' })
})
