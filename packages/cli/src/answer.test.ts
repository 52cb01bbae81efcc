import type { Interaction, Json } from '@askback/protocol'
import { expect, it } from 'vitest'
import { allowsAgent } from './answer.js'

it.each<[string, Json, boolean]>([
  ['approval', { decision: 'approve' }, true],
  ['approval', { decision: 'deny' }, false],
  ['approval', {}, true],
  ['plan_review', { decision: 'edit' }, true],
  ['plan_review', { decision: 'default' }, true],
  ['plan_review', { decision: 'adjust' }, false],
  ['question', { answers: [] }, false],
  ['form', { values: {} }, false],
  ['deploy', { ok: true }, true],
])('%s answered with %j allows the agent to act: %s', (kind, answer, expected) => {
  expect(allowsAgent({ kind } as Interaction, answer)).toBe(expected)
})
