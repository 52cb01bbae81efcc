import { describe, expect, it } from 'vitest'
import { answerMessage } from '../session/model-messages.js'
import { answeredInput } from './question.js'

const options = [{ label: 'A, B' }, { label: 'C', preview: 'the look of C' }]
const one = { header: 'H', question: 'Which?', options, multiSelect: false }
const many = { ...one, question: 'Which ones?', multiSelect: true }

describe('an answer for AskUserQuestion', () => {
  it('is keyed by the text of its question, without which Claude Code loses it silently', () => {
    const { answers } = answeredInput({ questions: [one] }, { answers: [{ selected: ['A, B'] }] })
    expect(answers).toEqual({ 'Which?': 'A, B' })
  })

  it('passes several labels as a list, because a label may contain a comma', () => {
    const reply = { selected: ['A, B', 'C'], other: 'D, E' }
    const { answers } = answeredInput({ questions: [many] }, { answers: [reply] })
    expect(answers).toEqual({ 'Which ones?': ['A, B', 'C', 'D, E'] })
  })

  it('gives two questions with the same text different keys', () => {
    const replies = [{ selected: ['A, B'] }, { selected: ['C'] }, { selected: [], other: 'D' }]
    const { questions, answers } = answeredInput({ questions: [one, one, one] }, { answers: replies })
    expect(answers).toEqual({ 'Which?': 'A, B', 'Which? (2)': 'C', 'Which? (3)': 'D' })
    expect(questions.map((question) => (question as typeof one).question)).toEqual(Object.keys(answers))
  })

  it('contains the note, and the preview of the chosen option', () => {
    const answer = { answers: [{ selected: ['C'], note: 'but blue' }] }
    const { annotations } = answeredInput({ questions: [one] }, answer)
    expect(annotations).toEqual({ 'Which?': { notes: 'but blue', preview: 'the look of C' } })
    expect(answerMessage({ questions: [one] }, answer)).toBe('"Which?" = "C" (note: but blue)')
  })
})
