import type { SessionEvent } from '@askback/protocol'
import { expect, it } from 'vitest'
import { drawEvent } from './drawing.js'

const result: SessionEvent = {
  type: 'tool_result',
  toolCallId: 't',
  output: 'The user denied this call.',
  isError: true,
  seq: 2,
  id: 'e2',
  sessionId: 's',
  at: 0,
}

it.each([
  [undefined, '┊   failed: "The user denied this call."'],
  ['denied', '┊   denied'],
  ['adjusted', '┊   changes requested'],
  ['cancelled', '┊   cancelled'],
  ['timed_out', '┊   timed out'],
  ['interrupted', '┊   interrupted'],
] as const)('a result settled by %s is drawn as %j', (settledBy, drawn) => {
  expect(drawEvent({ ...result, ...(settledBy && { settledBy }) }, 80)).toBe(drawn)
})
