import {
  checkReply,
  parseIndexedAnswers,
  questionRequest,
  readTextReply,
  type QuestionReply,
  type QuestionRequest,
} from '@askback/protocol'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseWith } from './kinds.js'
import { questionKind } from './question.js'

const request: QuestionRequest = {
  questions: [
    {
      header: 'Database',
      question: 'Which database?',
      options: [{ label: 'Postgres' }, { label: 'SQLite' }],
      multiSelect: false,
    },
    {
      header: 'Regions',
      question: 'Which regions?',
      options: [{ label: 'eu' }, { label: 'us, east' }, { label: '1' }],
      multiSelect: true,
    },
    { header: '', question: 'What name?', options: [], multiSelect: false },
  ],
}
const validReplies: QuestionReply[] = [
  { selected: ['SQLite'] },
  { selected: ['eu', 'us, east'], other: 'mars' },
  { selected: [], other: 'Ada' },
]

function settle(answers: QuestionReply[]) {
  return questionKind.settle!(request, { answers })
}

function replaced(index: number, reply: QuestionReply): QuestionReply[] {
  return validReplies.map((valid, at) => (at === index ? reply : valid))
}

describe('settling a question', () => {
  it('settles answered with one entry per question, in order', () => {
    expect(settle(validReplies)).toEqual({ settlement: 'answered', answer: { answers: validReplies } })
  })

  it('includes a note and no undefined fields', () => {
    const outcome = settle(replaced(0, { selected: ['SQLite'], other: undefined, note: 'for now' }))
    expect(outcome).toStrictEqual({
      settlement: 'answered',
      answer: { answers: [{ selected: ['SQLite'], note: 'for now' }, validReplies[1], validReplies[2]] },
    })
  })

  it.each<[string, number, QuestionReply, string]>([
    [
      'a label that is not there',
      0,
      { selected: ['MySQL'] },
      'Question 1 ("Database", index 0) has no option "MySQL"',
    ],
    ['a label in another case', 0, { selected: ['sqlite'] }, 'has no option "sqlite"'],
    [
      'two labels where one may be chosen',
      0,
      { selected: ['Postgres', 'SQLite'] },
      'takes one option, not 2',
    ],
    ['a label and a text where one may be chosen', 0, { selected: ['SQLite'], other: 'x' }, 'not both'],
    ['neither', 0, { selected: [] }, 'needs an option or a text of your own'],
    ['a blank text', 0, { selected: [], other: ' \n' }, 'has an empty text'],
    [
      'a blank text beside a label',
      1,
      { selected: ['eu'], other: '' },
      'Question 2 ("Regions", index 1) has an empty text',
    ],
    ['a label twice', 1, { selected: ['eu', 'eu'] }, 'has the option "eu" twice'],
    ['nothing where several may be chosen', 1, { selected: [] }, 'needs an option or a text of your own'],
    [
      'a label where there are no options',
      2,
      { selected: ['Ada'] },
      'Question 3 ("What name?", index 2) has no option',
    ],
    ['nothing where a text is asked', 2, { selected: [] }, 'needs a text'],
  ])('[L9] rejects %s and says which question', (_, index, reply, message) => {
    expect(() => settle(replaced(index, reply))).toThrow(
      expect.objectContaining({
        code: 'invalid_answer',
        message: expect.stringContaining(message) as string,
        details: { question: index },
      }),
    )
  })

  it.each([0, 2, 4, 99])('[L9] rejects %i entries for three questions', (length) => {
    const answers = Array.from({ length }, (_, index) => validReplies[index] ?? { selected: ['x'] })
    expect(() => settle(answers)).toThrow(expect.objectContaining({ code: 'invalid_answer' }))
  })

  it('checks a reply to a question that does not exist', () => {
    expect(() => checkReply(request, 3, { selected: [] })).toThrow(
      expect.objectContaining({ code: 'invalid_answer' }),
    )
  })

  it('two questions may have the same text and different answers', () => {
    const [first] = request.questions
    const outcome = questionKind.settle!(
      { questions: [first!, first!] },
      { answers: [{ selected: ['SQLite'] }, { selected: ['Postgres'] }] },
    )
    expect(outcome).toMatchObject({
      answer: { answers: [{ selected: ['SQLite'] }, { selected: ['Postgres'] }] },
    })
  })
})

describe('asking a question', () => {
  const [first] = request.questions
  const options = (labels: string[]) => ({
    questions: [{ ...first!, options: labels.map((label) => ({ label })) }],
  })

  it.each<[string, unknown, string]>([
    ['no questions', { questions: [] }, 'questions'],
    ['five questions', { questions: Array.from({ length: 5 }, () => first) }, 'at most 4'],
    ['nine options', options('123456789'.split('')), 'at most 8'],
    ['an empty label', options(['a', ' ']), 'questions[0].options[1].label'],
    ['a label twice', options(['a', 'b', 'a']), 'repeats the label "a"'],
    ['a question without text', { questions: [{ ...first, question: '' }] }, 'questions[0].question'],
    [
      'a label that is no text',
      { questions: [{ ...first, options: [{ label: 1 }] }] },
      'questions[0].options[0].label',
    ],
  ])('rejects %s and says where', (_, bad, message) => {
    expect(() => parseWith(questionRequest, bad, { code: 'invalid_request', what: 'the request' })).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        message: expect.stringContaining(message) as string,
      }),
    )
  })
})

describe('answers by index', () => {
  it('accepts a label, a JSON array as a string, and another text', () => {
    expect(parseIndexedAnswers(request, { 0: 'SQLite', 1: '["us, east","eu"]', 2: 'Ada' })).toStrictEqual({
      answers: [{ selected: ['SQLite'] }, { selected: ['us, east', 'eu'] }, { selected: [], other: 'Ada' }],
    })
  })

  it('accepts an array, with one other text among the labels', () => {
    expect(parseIndexedAnswers(request, { 0: 'CouchDB', 1: ['eu', 'mars'], 2: '["Ada"]' })).toStrictEqual({
      answers: [
        { selected: [], other: 'CouchDB' },
        { selected: ['eu'], other: 'mars' },
        { selected: [], other: '["Ada"]' },
      ],
    })
  })

  const good = { 0: 'SQLite', 1: ['eu'], 2: 'Ada' }
  it.each<[string, Record<string, unknown>, unknown]>([
    ['an entry missing', { 0: 'SQLite', 1: ['eu'] }, 2],
    ['an entry for question 99', { ...good, 99: 'x' }, '99'],
    ['an index that is written oddly', { ...good, '00': 'x' }, '00'],
    ['an index that is no number', { ...good, one: 'x' }, 'one'],
    ['a negative index', { ...good, '-1': 'x' }, '-1'],
    [
      'an inherited entry',
      Object.assign(Object.create({ 0: 'SQLite' }) as object, { 1: ['eu'], 2: 'Ada' }),
      0,
    ],
    ['an empty text', { ...good, 2: ' ' }, 2],
    ['a number for a text', { ...good, 2: 7 }, 2],
    ['null', { ...good, 0: null }, 0],
    ['an array where one may be chosen', { ...good, 0: ['SQLite'] }, 0],
    ['a bare label where several may be chosen', { ...good, 1: 'eu' }, 1],
    ['a JSON text that is no array', { ...good, 1: '{"eu":true}' }, 1],
    ['an empty list', { ...good, 1: [] }, 1],
    ['an empty list as a string', { ...good, 1: '[]' }, 1],
    ['a label twice', { ...good, 1: '["eu","eu"]' }, 1],
    ['two other texts', { ...good, 1: ['mars', 'venus'] }, 1],
    ['an empty text in a list', { ...good, 1: ['eu', ''] }, 1],
    ['a number in a list', { ...good, 1: ['eu', 1] }, 1],
  ])('rejects %s and names the index', (_, answers, question) => {
    expect(() => parseIndexedAnswers(request, answers)).toThrow(
      expect.objectContaining({
        code: 'invalid_answer',
        message: expect.stringContaining(String(question)) as string,
        details: { question },
      }),
    )
  })

  it('answers that it accepts settle the question', () => {
    const entry = fc.oneof(
      fc.string(),
      fc.constantFrom('SQLite', 'eu', '1', '["eu"]'),
      fc.array(fc.constantFrom('eu', '1', 'x', '')),
      fc.integer(),
    )
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('0', '1', '2', '3'), entry), (answers) => {
        let parsed
        try {
          parsed = parseIndexedAnswers(request, answers)
        } catch (error) {
          expect(error).toMatchObject({ code: 'invalid_answer' })
          return
        }
        expect(settle(parsed.answers)).toMatchObject({ settlement: 'answered' })
      }),
    )
  })
})

describe('a typed line', () => {
  const [single, multi, free] = request.questions
  it.each([
    ['a label', single!, 'SQLite', { selected: ['SQLite'] }],
    ['a label in another case', single!, '  postGRES ', { selected: ['Postgres'] }],
    ['a number counted from 1', single!, '2', { selected: ['SQLite'] }],
    ['a number beyond the options', single!, '3', { selected: [], other: '3' }],
    ['zero', single!, '0', { selected: [], other: '0' }],
    ['another text, trimmed', single!, ' neither, really ', { selected: [], other: 'neither, really' }],
    ['numbers where one may be chosen', single!, '1, 2', { selected: [], other: '1, 2' }],
    ['a label before a number', multi!, '1', { selected: ['1'] }],
    ['a label that holds a comma', multi!, 'US, East', { selected: ['us, east'] }],
    ['numbers and labels where several may be chosen', multi!, '2,eu', { selected: ['us, east', 'eu'] }],
    ['an option named in two ways', multi!, 'eu, EU', { selected: ['eu'] }],
    ['a list with a part that is no option', multi!, 'eu, mars', { selected: [], other: 'eu, mars' }],
    ['a list with an empty part', multi!, 'eu,', { selected: [], other: 'eu,' }],
    ['any text where there are no options', free!, '1', { selected: [], other: '1' }],
  ])('reads %s', (_, question, text, reply) => {
    expect(readTextReply(question, text)).toStrictEqual(reply)
  })

  it('prefers the label as typed if two differ only by case', () => {
    const question = { question: '?', options: [{ label: 'Go' }, { label: 'GO' }] }
    expect(readTextReply(question, 'GO')).toEqual({ selected: ['GO'] })
    expect(readTextReply(question, 'go')).toEqual({ selected: ['Go'] })
    const padded = { ...question, options: [{ label: ' a' }, { label: 'a' }] }
    expect(readTextReply(padded, 'a')).toEqual({ selected: ['a'] })
  })

  it('is always a valid reply to its question', () => {
    const text = fc
      .oneof(fc.string(), fc.constantFrom('1', '2,eu', 'US, east', 'eu,eu'))
      .filter((it) => it.trim() !== '')
    fc.assert(
      fc.property(fc.nat({ max: 2 }), text, (index, line) => {
        checkReply(request, index, readTextReply(request.questions[index]!, line))
      }),
    )
  })
})
