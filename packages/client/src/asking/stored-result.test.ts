import type { Interaction, NewEvent, SessionEvent } from '@askback/protocol'
import { expect, it } from 'vitest'
import { asked, ended, wrote } from '../testing/index.js'
import type { AskingPort } from './asking-port.js'
import { findResult } from './stored-result.js'

/** A port that reads a log in pages of this size. */
function reading(log: SessionEvent[], pageSize: number): { port: AskingPort; reads: number[] } {
  const reads: number[] = []
  const eventsBefore: AskingPort['eventsBefore'] = async (_, before) => {
    reads.push(before)
    return log.filter(({ seq }) => seq < before).slice(-pageSize)
  }
  return { port: { eventsBefore } as AskingPort, reads }
}

const logOf = (...events: NewEvent[]) =>
  events.map((event, index) => ({ ...event, seq: index + 1 })) as SessionEvent[]
const texts = Array.from({ length: 25 }, (_, index) => wrote(`b${index}`))
const result = (toolCallId: string, output: string) => ended(toolCallId, { output })
const requested = asked('i1', { toolCallId: 'call' })
const interaction = { sessionId: 's', interactionId: 'i1', toolCallId: 'call' } as Interaction
const find = (port: AskingPort) => findResult(port, interaction, new AbortController().signal)

it.each([1, 2, 7, 1000])('finds a result far back in the log, in pages of %i events', async (pageSize) => {
  const log = logOf(...requested, result('call', 'done'), result('other', 'not this'), ...texts)
  expect(await find(reading(log, pageSize).port)).toEqual({ value: 'done' })
})

it('reads no further back than the request, and nothing of other calls', async () => {
  const log = logOf(...texts, result('call', 'of an earlier request'), ...requested, result('other', 'no'))
  const { port, reads } = reading(log, 3)
  expect(await find(port)).toBeNull()
  expect(reads.length).toBeLessThan(4)
})

it('finds nothing in a log that was erased', async () => {
  expect(await find(reading([], 3).port)).toBeNull()
})
