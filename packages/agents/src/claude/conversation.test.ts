import type { AgentContext, ReportedEvent } from '@askback/core'
import { fakeClock } from '@askback/core/testing'
import { expect, it } from 'vitest'
import type { ClaudeProgram } from './claude-program.js'
import { ClaudeTurnLog } from './claude-turn-log.js'
import { Conversation } from './conversation.js'

it('an interrupt that the program ignores resolves when the turn has ended', async () => {
  let exit = () => {}
  const exited = new Promise<void>((resolve) => (exit = resolve))
  const program = {
    query: (async function* () {
      await exited
      yield* []
    })(),
    interrupt: () => new Promise(() => {}),
    kill: async () => exit(),
    stderr: '',
  } as unknown as ClaudeProgram
  const clock = fakeClock()
  const turnLog = { isOpen: true }
  const conversation = new Conversation(program, {
    turnLog: turnLog as ClaudeTurnLog,
    clock,
    isResumed: false,
    async endTurn() {
      // A store takes its time, too.
      await new Promise((resolve) => setImmediate(resolve))
      turnLog.isOpen = false
    },
    ended: async () => {},
    failed: () => {},
  })
  const interrupted = conversation.interrupt()
  clock.advance(5000)
  await interrupted
  expect(turnLog.isOpen).toBe(false)
})

it('the result of a local slash command accepts its message, and its output is text of the turn', async () => {
  const uuid = '00000000-0000-4000-8000-000000000001'
  const unaccepted = new Set<string>([uuid])
  const program = {
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
    messageAccepted: (id: string) => unaccepted.delete(id),
    get hasUnaccepted() {
      return unaccepted.size > 0
    },
    kill: async () => {},
    stderr: '',
  } as unknown as ClaudeProgram
  const log: ReportedEvent[] = []
  const clock = fakeClock()
  const context = { report: async (...events: ReportedEvent[]) => void log.push(...events) }
  const turnLog = new ClaudeTurnLog(context as unknown as AgentContext, { clock, newId: () => 'id' })
  turnLog.begin('turn')
  let resolveEnded = () => {}
  const ended = new Promise<void>((resolve) => (resolveEnded = resolve))
  const conversation = new Conversation(program, {
    turnLog,
    clock,
    isResumed: false,
    endTurn: (reason, ...events) => turnLog.end(reason, ...events),
    ended: async () => resolveEnded(),
    failed: () => {},
  })
  await ended
  expect(conversation.isIdle).toBe(true)
  expect(log).toMatchObject([
    { type: 'text', turnId: 'turn', text: 'Usage: 12 %' },
    { type: 'turn_ended', turnId: 'turn', reason: 'done' },
  ])
})
