import { describe, expect, it } from 'vitest'
import type { Interaction } from './interaction.js'
import type { Json } from './json.js'
import { isBareYes, routeText, textTakers } from './text-routing.js'

const pending = (interactionId: string, kind: string, request: Json, progress?: Json): Interaction => ({
  interactionId,
  sessionId: 's1',
  toolCallId: `call of ${interactionId}`,
  toolName: 'Tool',
  kind,
  presentation: 'tool',
  request,
  digest: '',
  status: 'pending',
  requestedAt: 0,
  onTimeout: 'deny',
  ...(progress !== undefined && { progress }),
})
const questions = [
  {
    header: 'DB',
    question: 'Which database?',
    options: [{ label: 'Postgres' }, { label: 'SQLite' }],
    multiSelect: false,
  },
  { header: 'Name', question: 'What name?', options: [], multiSelect: false },
]
const approval = (id: string) => pending(id, 'approval', { input: {} })
const plan = (id: string) => pending(id, 'plan_review', { plan: 'x' })
const question = (id: string, progress?: Json) => pending(id, 'question', { questions }, progress)
const form = (id: string, fields: Json[] = [{ name: 'note', type: 'text' }]) =>
  pending(id, 'form', { message: '', schema: { fields } })
const custom = (id: string) => pending(id, 'color_picker', {})

const refusal = (code: string) => expect.objectContaining({ code }) as Error

describe('the interaction that gets a text', () => {
  it('is chosen by kind first: approval, plan review, question, form', () => {
    const all = [custom('c'), form('f'), question('q'), plan('p'), approval('a')]
    expect(routeText({ pending: all, text: 'too risky' })).toMatchObject({ interactionId: 'a' })
    expect(routeText({ pending: all.slice(0, 4), text: 'too risky' })).toMatchObject({ interactionId: 'p' })
    expect(routeText({ pending: all.slice(0, 3), text: 'too risky' })).toMatchObject({ interactionId: 'q' })
    expect(routeText({ pending: all.slice(0, 2), text: 'too risky' })).toMatchObject({ interactionId: 'f' })
    expect(routeText({ pending: all.slice(0, 1), text: 'too risky' })).toEqual({ to: 'nobody' })
    expect(routeText({ pending: [], text: 'too risky' })).toEqual({ to: 'nobody' })
  })

  it('is the oldest of its kind', () => {
    expect(routeText({ pending: [question('q'), approval('a1'), approval('a2')], text: 'no' })).toMatchObject(
      { interactionId: 'a1' },
    )
  })

  it('is never a form that has more than one field, or one that is no text', () => {
    const two = [
      { name: 'a', type: 'text' },
      { name: 'b', type: 'text' },
    ]
    const number = [{ name: 'a', type: 'number' }]
    expect(
      routeText({ pending: [form('f1', two), form('f2', number), form('f3')], text: 'x' }),
    ).toMatchObject({ interactionId: 'f3' })
    expect(routeText({ pending: [form('f1', two)], text: 'x' })).toEqual({ to: 'nobody' })
  })

  it('is the named one, if one is named', () => {
    const all = [approval('a'), question('q')]
    expect(routeText({ pending: all, text: 'SQLite', interactionId: 'q' })).toMatchObject({
      interactionId: 'q',
    })
    expect(() => routeText({ pending: all, text: 'SQLite', interactionId: 'x' })).toThrow(
      refusal('not_found'),
    )
  })

  it.each([custom('c'), form('c', [{ name: 'a', type: 'number' }])])(
    'is refused if it is named and takes no text',
    (item) => {
      expect(() => routeText({ pending: [approval('a'), item], text: 'x', interactionId: 'c' })).toThrow(
        refusal('nothing_pending'),
      )
    },
  )

  it.each(['', ' ', '\n\t'])('is none for a blank text (%j)', (text) => {
    expect(() => routeText({ pending: [approval('a')], text })).toThrow(refusal('invalid_request'))
  })
})

describe('the interactions that take a text', () => {
  it('are listed in the order of routing, without those that take none', () => {
    const two = [
      { name: 'a', type: 'text' },
      { name: 'b', type: 'text' },
    ]
    const all = [
      custom('c'),
      form('f'),
      form('two', two),
      question('q2'),
      question('q1'),
      plan('p'),
      approval('a'),
      pending('broken', 'question', { questions: [] }),
    ]
    expect(textTakers(all).map(({ interactionId }) => interactionId)).toEqual(['a', 'p', 'q2', 'q1', 'f'])
    expect(textTakers([custom('c')])).toEqual([])
  })

  it('begin with the one that routing chooses', () => {
    const all = [form('f'), question('q'), plan('p'), approval('a')]
    for (let start = 0; start < all.length; start++) {
      const pending = all.slice(0, all.length - start)
      expect(routeText({ pending, text: 'too risky' })).toMatchObject({
        interactionId: textTakers(pending)[0]!.interactionId,
      })
    }
  })
})

describe('what a text does', () => {
  it('denies an approval with the text as the reason', () => {
    expect(routeText({ pending: [approval('a')], text: 'use npm, not yarn' })).toEqual({
      to: 'answer',
      interactionId: 'a',
      answer: { decision: 'deny', message: 'use npm, not yarn' },
    })
  })

  it('adjusts a plan with the text as feedback', () => {
    for (const text of ['smaller steps', 'yes, but in smaller steps']) {
      expect(routeText({ pending: [plan('p')], text })).toEqual({
        to: 'answer',
        interactionId: 'p',
        answer: { decision: 'adjust', feedback: text },
      })
    }
  })

  it('fills the one text field of a form', () => {
    expect(routeText({ pending: [form('f')], text: ' as typed ' })).toEqual({
      to: 'answer',
      interactionId: 'f',
      answer: { values: { note: ' as typed ' } },
    })
  })

  it('answers the current question and keeps the rest for later', () => {
    expect(routeText({ pending: [question('q')], text: 'sqlite' })).toEqual({
      to: 'progress',
      interactionId: 'q',
      answers: [{ selected: ['SQLite'] }],
    })
  })

  it('completes the answer with the last question', () => {
    expect(routeText({ pending: [question('q', [{ selected: ['SQLite'] }])], text: '1' })).toEqual({
      to: 'answer',
      interactionId: 'q',
      answer: { answers: [{ selected: ['SQLite'] }, { selected: [], other: '1' }] },
    })
  })
})

describe('the question that a surface has shown', () => {
  const shown = [approval('a'), question('q', [{ selected: ['SQLite'] }])]

  it('is answered if it is the current one, and nothing else is touched', () => {
    expect(routeText({ pending: shown, text: 'Ada', questionIndex: 1 })).toMatchObject({
      to: 'answer',
      interactionId: 'q',
    })
  })

  it.each<[number, string]>([
    [0, 'already_settled'],
    [2, 'invalid_request'],
    [99, 'invalid_request'],
    [0.5, 'already_settled'],
    [Number.NaN, 'invalid_request'],
  ])('index %d is refused as %s', (questionIndex, code) => {
    expect(() => routeText({ pending: shown, text: 'Ada', questionIndex })).toThrow(refusal(code))
    expect(() => routeText({ pending: shown, text: 'Ada', questionIndex, interactionId: 'q' })).toThrow(
      refusal(code),
    )
  })

  it('cannot be named for other kinds', () => {
    expect(() => routeText({ pending: [approval('a')], text: 'x', questionIndex: 0 })).toThrow(
      refusal('nothing_pending'),
    )
    expect(() => routeText({ pending: shown, text: 'x', questionIndex: 0, interactionId: 'a' })).toThrow(
      refusal('invalid_request'),
    )
  })
})

describe('a bare yes to an approval or a plan', () => {
  it.each([approval('i'), plan('i')])('is refused: $kind', (item) => {
    for (const text of ['yes', 'lgtm', 'Go ahead!']) {
      expect(() => routeText({ pending: [item], text })).toThrow(refusal('needs_decision'))
      expect(() => routeText({ pending: [item], text, interactionId: 'i' })).toThrow(
        refusal('needs_decision'),
      )
    }
  })

  it.each(
    `yes|Yes!|YES|y|ok|OK.|okay|Okay...|approve|Approved|allow|sure|yep|yup|go|go ahead|do it|yes please|ok, go ahead|LGTM|looks good
    |sounds good to me|fine|👍|👍🏽|✔️|✅ yes|Ja|sí|oui|да|はい|好的|네|D’accord|proceed|run it|once|always|always allow|+1|"yes"|yes yes
    |of course|Of course!|alright|yes sir|fine by me|fine with me|sgtm|ship it|indeed|thumbs up|no problem|✓`
      .split('|')
      .map((text) => text.trim()),
  )('is recognized: %s', (text) => {
    expect(isBareYes(text)).toBe(true)
  })

  it.each(
    `no|No.|deny|nope|stop|not yet|yes but only in /tmp|ok, use npm instead|approve only reads|please|it|?|do not do it|go away|don’t
    |the tests must pass first|nein|👎|yes and no|never|okra|problem|of|with me|no problem with the tests but the docs`
      .split('|')
      .map((text) => text.trim()),
  )('is not what this says: %s', (text) => {
    expect(isBareYes(text)).toBe(false)
  })
})
