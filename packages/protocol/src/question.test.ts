import { expect, it } from 'vitest'
import { repliesIn } from './question.js'

const replies = [{ selected: ['SQLite'] }, { selected: [], other: 'Ada' }]

it.each([
  ['of a whole answer', { answers: replies }, replies],
  ['of the progress so far', replies.slice(0, 1), replies.slice(0, 1)],
  ['of nothing', undefined, []],
  ['of a text', 'SQLite', []],
  ['of a list of something else', [1], []],
])('finds the replies %s', (_, answer, expected) => {
  expect(repliesIn(answer)).toEqual(expected)
})
