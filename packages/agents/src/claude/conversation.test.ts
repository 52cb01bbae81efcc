import type { AgentContext, Reported } from '@askback/core'
import { fakeClock } from '@askback/core/testing'
import { expect, it } from 'vitest'
import { Conversation } from './conversation.js'
import type { ClaudeRun } from './run.js'
import { TurnLog } from './turn-log.js'

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

it('a local slash command is acknowledged by its result alone, and what it printed is text of the turn', async () => {
  const uuid = '00000000-0000-4000-8000-000000000001'
  const waiting = new Set<string>([uuid])
  const run = {
    query: (async function* () {
      yield { type: 'system', subtype: 'local_command_output', content: 'Usage: 12 %\n', uuid: 'output' }
      yield {
        type: 'result',
        subtype: 'success',
        is_error: false,
        stop_reason: null,
        user_message_uuids: [uuid],
        total_cost_usd: 0,
        usage: { input_tokens: 0, output_tokens: 0 },
      }
    })(),
    taken: (id: string) => waiting.delete(id),
    get hasMail() {
      return waiting.size > 0
    },
    kill: async () => {},
    complaint: '',
  } as unknown as ClaudeRun
  const log: Reported[] = []
  const clock = fakeClock()
  const context = { report: async (...events: Reported[]) => void log.push(...events) }
  const turn = new TurnLog(context as unknown as AgentContext, { clock, newId: () => 'id' })
  turn.begin('turn')
  let end = () => {}
  const ended = new Promise<void>((resolve) => (end = resolve))
  const conversation = new Conversation(run, {
    turn,
    clock,
    isResumed: false,
    endTurn: (reason, ...events) => turn.end(reason, ...events),
    ended: async () => end(),
    failed: () => {},
  })
  await ended
  expect(conversation.isIdle).toBe(true)
  expect(log).toMatchObject([
    { type: 'text', turnId: 'turn', text: 'Usage: 12 %' },
    { type: 'turn_ended', turnId: 'turn', reason: 'done' },
  ])
})
