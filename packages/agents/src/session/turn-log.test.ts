import type { ReportedEvent } from '@askback/core'
import { expect, it } from 'vitest'
import { TurnLog } from './turn-log.js'

function startLog() {
  const reported: ReportedEvent[] = []
  let ids = 0
  const context = {
    report: async (...events: ReportedEvent[]) => void reported.push(...events),
    live: () => {},
  }
  return { turnLog: new TurnLog(context, () => `id-${++ids}`), reported }
}

it('starts a turn once, and puts its id into each event', async () => {
  const { turnLog, reported } = startLog()
  await turnLog.start()
  await turnLog.start()
  await turnLog.reportToolResult('call', 'done', false)
  await turnLog.end('done')
  await turnLog.end('interrupted')
  expect(reported).toEqual([
    { type: 'turn_started', turnId: 'id-1' },
    { type: 'tool_result', turnId: 'id-1', toolCallId: 'call', output: 'done', isError: false },
    { type: 'turn_ended', turnId: 'id-1', reason: 'done' },
  ])
})

it('adds up the usage of a turn, and starts the next one from zero', async () => {
  const { turnLog, reported } = startLog()
  for (const turnId of ['one', 'two']) {
    turnLog.begin(turnId)
    turnLog.addUsage({ costUsd: 1, inputTokens: 10, outputTokens: 5 })
    if (turnId === 'one') turnLog.addUsage({ costUsd: 2, inputTokens: 1, outputTokens: 1 })
    await turnLog.end('done')
  }
  expect(reported).toMatchObject([
    { turnId: 'one', usage: { costUsd: 3, inputTokens: 11, outputTokens: 6 } },
    { turnId: 'two', usage: { costUsd: 1, inputTokens: 10, outputTokens: 5 } },
  ])
})

it('reports results when the agent accepts their message, and drops them if the turn ends before', async () => {
  const { turnLog, reported } = startLog()
  const result = (toolCallId: string) =>
    ({ type: 'tool_result', toolCallId, output: '', isError: false }) as const
  turnLog.begin('turn')
  turnLog.reportOnceAccepted('m1', [result('a')])
  turnLog.reportOnceAccepted('m2', [result('b')])
  await turnLog.messageAccepted('m1')
  await turnLog.messageAccepted('m1')
  await turnLog.end('interrupted')
  await turnLog.messageAccepted('m2')
  expect(reported.map((event) => ('toolCallId' in event ? event.toolCallId : event.type))).toEqual([
    'a',
    'turn_ended',
  ])
})

it('reports that the agent retries once for each turn of its program', async () => {
  const { turnLog, reported } = startLog()
  turnLog.begin('turn')
  await turnLog.reportRetry('Reconnecting 1/5')
  await turnLog.reportRetry('Reconnecting 2/5')
  turnLog.programTurnStarts()
  await turnLog.reportRetry('Reconnecting 1/5')
  expect(reported).toMatchObject([
    { code: 'agent_retries', message: 'Reconnecting 1/5', fatal: false },
    { code: 'agent_retries' },
  ])
})
