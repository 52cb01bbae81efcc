import { describe, expect, it } from 'vitest'
import { answerInWords } from '../session/answer-words.js'
import { answeredInput } from './question.js'

const options = [{ label: 'A, B' }, { label: 'C', preview: 'the look of C' }]
const one = { header: 'H', question: 'Which?', options, multiSelect: false }
const many = { ...one, question: 'Which ones?', multiSelect: true }

describe('an answer for AskUserQuestion', () => {
  it('lesson 1: is keyed by the text of its question', () => {
    const { answers } = answeredInput({ questions: [one] }, { answers: [{ selected: ['A, B'] }] })
    expect(answers).toEqual({ 'Which?': 'A, B' })
  })

  it('lesson 2: keeps several labels apart, whatever is in them', () => {
    const reply = { selected: ['A, B', 'C'], other: 'D, E' }
    const { answers } = answeredInput({ questions: [many] }, { answers: [reply] })
    expect(answers).toEqual({ 'Which ones?': ['A, B', 'C', 'D, E'] })
  })

  it('lesson 3: gives each of two questions with the same text a key of its own', () => {
    const replies = [{ selected: ['A, B'] }, { selected: ['C'] }, { selected: [], other: 'D' }]
    const { questions, answers } = answeredInput({ questions: [one, one, one] }, { answers: replies })
    expect(answers).toEqual({ 'Which?': 'A, B', 'Which? (2)': 'C', 'Which? (3)': 'D' })
    expect(questions.map((question) => (question as typeof one).question)).toEqual(Object.keys(answers))
  })

  it('carries the note, and the preview of what was chosen', () => {
    const answer = { answers: [{ selected: ['C'], note: 'but blue' }] }
    const { annotations } = answeredInput({ questions: [one] }, answer)
    expect(annotations).toEqual({ 'Which?': { notes: 'but blue', preview: 'the look of C' } })
    expect(answerInWords({ questions: [one] }, answer)).toBe('"Which?" = "C" (note: but blue)')
  })
})
