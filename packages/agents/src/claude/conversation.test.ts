import { fakeClock } from '@askback/core/testing'
import { expect, it } from 'vitest'
import { Conversation } from './conversation.js'
import type { ClaudeRun } from './run.js'
import type { TurnLog } from './turn-log.js'

it('an interrupt of a program that does not heed it is over when the turn is', async () => {
  let end = () => {}
  const gone = new Promise<void>((resolve) => (end = resolve))
  const run = {
    query: (async function* () {
      await gone
      yield* []
    })(),
    interrupt: () => new Promise(() => {}),
    kill: async () => end(),
    complaint: '',
  } as unknown as ClaudeRun
  const clock = fakeClock()
  const turn = { isOpen: true }
  const conversation = new Conversation(run, {
    turn: turn as TurnLog,
    clock,
    isResumed: false,
    async endTurn() {
      // As a store takes its time.
      await new Promise((resolve) => setImmediate(resolve))
      turn.isOpen = false
    },
    ended: async () => {},
    failed: () => {},
  })
  const interrupted = conversation.interrupt()
  clock.advance(5000)
  await interrupted
  expect(turn.isOpen).toBe(false)
})
