import type { Interaction, Json, KindPrompt } from '@askback/protocol'
import { expect, it } from 'vitest'
import { allowsAgent } from './answer.js'
import { readCustomAnswer } from './read-answer.js'

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

const count: KindPrompt = {
  title: 'How many?',
  fields: [{ name: 'answer', type: 'number', required: true }],
  initialValues: {},
  nullable: [],
  json: [],
  single: true,
}

it('reads one word as the answer of a kind that takes a single value, and refuses more', () => {
  expect(readCustomAnswer(count, ['4'])).toBe(4)
  for (const words of [[], ['4', '5']])
    expect(() => readCustomAnswer(count, words)).toThrow('It is answered with one word')
})
