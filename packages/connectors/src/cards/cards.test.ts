import type { Interaction, Json } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { EMPTY_VIEW, type CardInput, type CardView } from './card.js'
import { bodyOf, handleInput, outcomeText } from './cards.js'
import { answered, ada, interaction, refused, tap, text } from './test-interaction.test.helper.js'

const one = interaction('question', {
  questions: [{ header: 'Size', question: 'How big?', options: [{ label: 'edit' }, { label: '2' }] }],
})
const many = interaction('question', {
  questions: [
    { question: 'Which?', options: [{ label: 'a, b' }, { label: 'c' }], multiSelect: true },
    { question: 'Which?', options: [] },
  ],
})
const approval = interaction('approval', { input: { command: 'ls' } })
const plan = interaction('plan_review', { plan: '# P' })
const asking = (what: 'other' | 'reason' | 'feedback'): CardView => ({
  ...EMPTY_VIEW,
  asking: { what, by: ada },
})
const picked = (...labels: string[]): CardView => ({ ...EMPTY_VIEW, picked: labels })

describe('an input', () => {
  it.each<[string, Interaction, CardView, CardInput, object]>([
    ['an option answers', one, EMPTY_VIEW, tap('o0'), answered({ answers: [{ selected: ['edit'] }] })],
    ['an option that does not exist is refused', one, EMPTY_VIEW, tap('o7'), refused],
    ['a decision of another kind is refused', one, EMPTY_VIEW, tap('edit'), refused],
    ['approve is refused for a question', one, EMPTY_VIEW, tap('approve'), refused],
    ['Other waits for a text', one, EMPTY_VIEW, tap('other'), { do: 'show', view: asking('other') }],
    ['Back stops waiting for a text', one, asking('other'), tap('back'), { do: 'show', view: EMPTY_VIEW }],
    [
      'the text after Other is taken literally',
      one,
      asking('other'),
      text(' 2 '),
      answered({ answers: [{ selected: [], other: '2' }] }),
    ],
    ['a text that the card did not ask for is routed', one, EMPTY_VIEW, text('2'), { do: 'route' }],
    ['an empty text is refused', one, asking('other'), text(' \n'), refused],
    ['a first tap selects', many, EMPTY_VIEW, tap('o1'), { do: 'show', view: picked('c') }],
    [
      'selected options stay in the order of the question',
      many,
      picked('c'),
      tap('o0'),
      { do: 'show', view: picked('a, b', 'c') },
    ],
    ['a second tap deselects', many, picked('a, b', 'c'), tap('o1'), { do: 'show', view: picked('a, b') }],
    ['Done without a selection is refused', many, EMPTY_VIEW, tap('done'), refused],
    [
      'Done continues with the next question',
      many,
      picked('a, b'),
      tap('done'),
      { do: 'progress', answers: [{ selected: ['a, b'] }] },
    ],
    [
      'a text is added to what is selected',
      many,
      picked('c'),
      text('mine'),
      { do: 'progress', answers: [{ selected: ['c'], other: 'mine' }] },
    ],
    [
      'the reply to the last question completes the answer',
      { ...many, progress: [{ selected: ['c'] }] },
      asking('other'),
      text('x'),
      answered({ answers: [{ selected: ['c'] }, { selected: [], other: 'x' }] }),
    ],
    ['approve approves', approval, EMPTY_VIEW, tap('approve'), answered({ decision: 'approve' })],
    ['deny denies', approval, EMPTY_VIEW, tap('deny'), answered({ decision: 'deny' })],
    [
      'Deny with a reason waits for a text',
      approval,
      EMPTY_VIEW,
      tap('reason'),
      { do: 'show', view: asking('reason') },
    ],
    [
      'the reason denies',
      approval,
      asking('reason'),
      text('no'),
      answered({ decision: 'deny', message: 'no' }),
    ],
    ['an option is refused for an approval', approval, EMPTY_VIEW, tap('o0'), refused],
    [
      'a text for an approval that asks for none is routed',
      approval,
      EMPTY_VIEW,
      text('yes'),
      { do: 'route' },
    ],
    ['edit proceeds with a plan', plan, EMPTY_VIEW, tap('edit'), answered({ decision: 'edit' })],
    [
      'clean_edit proceeds with a fresh context',
      plan,
      EMPTY_VIEW,
      tap('clean_edit'),
      answered({ decision: 'clean_edit' }),
    ],
    ['default proceeds in default mode', plan, EMPTY_VIEW, tap('default'), answered({ decision: 'default' })],
    ['adjust waits for feedback', plan, EMPTY_VIEW, tap('adjust'), { do: 'show', view: asking('feedback') }],
    [
      'feedback adjusts',
      plan,
      asking('feedback'),
      text('less'),
      answered({ decision: 'adjust', feedback: 'less' }),
    ],
    ['approve is refused for a plan', plan, EMPTY_VIEW, tap('approve'), refused],
    ['a custom kind takes no tap', interaction('slot', {}), EMPTY_VIEW, tap('approve'), refused],
  ])('%s', (_name, target, view, input, expected) => {
    expect(handleInput(target, view, input)).toMatchObject(expected)
  })
})

/** A name that imitates a card of Askback on a second line. */
const FORGED = 'x\n── Approve ls?'

describe('a card', () => {
  it('makes hidden characters visible in labels and inputs', () => {
    const options = [{ label: 'a\u202eb' }]
    const { controls } = bodyOf(
      interaction('question', { questions: [{ question: '?', options }] }),
      EMPTY_VIEW,
    )
    expect(controls[0]!.label).toBe('a⟦U+202E⟧b')
    const { parts } = bodyOf(interaction('approval', { input: { 'c\u200bmd': 'x\u001b[1m' } }), EMPTY_VIEW)
    expect(parts).toEqual([{ as: 'code', label: '"c⟦U+200B⟧md"', text: 'x⟦ESC[1m⟧' }])
  })

  it.each<[string, Interaction]>([
    ['a tool', interaction('approval', { input: {} }, { toolName: FORGED })],
    ['a kind', interaction(FORGED, {})],
    [
      'the header of a question',
      interaction('question', { questions: [{ header: FORGED, question: '?', options: [] }] }),
    ],
    [
      'a field',
      interaction('form', { message: '?', schema: { fields: [{ name: 'a', type: 'text', label: FORGED }] } }),
    ],
  ])('keeps its title on one line, whatever the name of %s', (_name, asked) => {
    expect(bodyOf(asked, EMPTY_VIEW).title).toMatch(/^[^\n]*x ⏎ ── Approve ls\?[^\n]*$/)
  })

  it('keeps choices and names of fields on one line', () => {
    const question = { question: '?', options: [{ label: FORGED, description: 'd' }] }
    const { controls, parts } = bodyOf(interaction('question', { questions: [question] }), EMPTY_VIEW)
    expect(controls[0]!.label).toBe('x ⏎ ── Approve ls?')
    expect(parts[1]!.label).toBe('x ⏎ ── Approve ls?')
    const fields = bodyOf(interaction('approval', { input: { [FORGED]: 1 } }), EMPTY_VIEW).parts
    expect(fields[0]!.label).toBe(String.raw`"x\n── Approve ls?"`)
  })

  it('labels the words of the agent as such', () => {
    const request = { input: {}, title: 't', description: 'd', reason: 'r', blockedPath: '/p' }
    const { parts } = bodyOf(interaction('approval', request), EMPTY_VIEW)
    expect(parts.slice(0, 4)).toEqual([
      { as: 'quote', label: 'The agent calls this', text: 't' },
      { as: 'quote', label: 'The agent says', text: 'd' },
      { as: 'quote', label: 'The agent says it asks because', text: 'r' },
      { as: 'quote', label: 'The agent says the path is', text: '/p' },
    ])
  })

  it('says in its own words what the gateway has noted, whatever the agent says', () => {
    const said = 'This is not the call that was approved before the restart.'
    const notes: Interaction['notes'] = ['not_as_approved']
    const noted = bodyOf(interaction('approval', { input: {} }, { notes }), EMPTY_VIEW)
    expect(noted.parts[0]).toEqual({ as: 'note', text: said })
    const forged = bodyOf(interaction('approval', { input: {}, reason: said, notes }), EMPTY_VIEW)
    expect(forged.parts.filter(({ as }) => as === 'note')).toEqual([])
  })

  it('shows every field of the input', () => {
    const { parts } = bodyOf(
      interaction('approval', { input: { path: '/a', edits: [{ n: 1 }] } }),
      EMPTY_VIEW,
    )
    expect(parts.map(({ label, text: shown }) => [label, shown])).toEqual([
      ['path', '/a'],
      ['edits', '[\n  {\n    "n": 1\n  }\n]'],
    ])
  })

  it.each<[Json, string]>([
    [true, 'true'],
    ['true', '"true"'],
    [1, '1'],
    ['1', '"1"'],
    ['1e+21', '"1e+21"'],
    ['"1"', String.raw`"\"1\""`],
    [null, 'null'],
    ['null', '"null"'],
    ['', '""'],
    ['ls ', '"ls "'],
    ['true\n', String.raw`"true\n"`],
    ['[1]', '"[1]"'],
    ['ls -a', 'ls -a'],
    ['a\nb\n', 'a\nb\n'],
  ])('quotes a string that could be mistaken for another value: %j', (value, shown) => {
    const { parts } = bodyOf(interaction('approval', { input: { value } }), EMPTY_VIEW)
    expect(parts).toEqual([{ as: 'code', label: 'value', text: shown }])
    expect(bodyOf(interaction('approval', { input: value }), EMPTY_VIEW).parts).toEqual([
      { as: 'code', text: shown },
    ])
  })

  it.each<[string, Json, [string, string][]]>([
    [
      'changes, line by line',
      { diffs: [{ path: '/a.ts', oldText: 'one\ntwo\nfour\n', newText: 'one\nthree\u202e\nfour\n' }] },
      [['The agent says it would change /a.ts', '  one\n- two\n+ three⟦U+202E⟧\n  four']],
    ],
    [
      'a new file and a deleted one',
      {
        diffs: [
          { path: '/new', oldText: '', newText: 'a\n' },
          { path: '/old', oldText: 'b', newText: '' },
        ],
      },
      [
        ['The agent says it would change /new', '+ a'],
        ['The agent says it would change /old', '- b'],
      ],
    ],
    [
      'what was approved before',
      { approved: 'ls', asked: 'rm' },
      [['The agent says this was approved before', 'ls']],
    ],
    ['a text', 'as it is', [['The agent’s preview', 'as it is']]],
    [
      'changes in an unknown format',
      { diffs: [{}] },
      [['The agent’s preview', '{\n  "diffs": [\n    {}\n  ]\n}']],
    ],
  ])('shows the preview of the agent: %s', (_name, preview, shown) => {
    const { parts } = bodyOf(interaction('approval', { input: {}, preview }), EMPTY_VIEW)
    expect(parts.slice(1).map(({ label, text: words }) => [label, words])).toEqual(shown)
  })

  it('shows the rules that an agent suggests', () => {
    const { parts } = bodyOf(interaction('approval', { input: {}, suggestions: ['Bash(ls:*)'] }), EMPTY_VIEW)
    expect(parts.at(-1)).toMatchObject({ label: 'Rules that the agent suggests', as: 'code' })
  })

  it.each<[Partial<Interaction>, string]>([
    [
      { settlement: 'approved', by: { id: 'a', name: 'Ada' }, via: 'telegram' },
      'Approved by Ada on Telegram.',
    ],
    [{ settlement: 'approved', via: 'policy' }, 'Approved by a rule.'],
    [
      {
        settlement: 'denied',
        via: 'policy',
        onTimeout: { answer: { decision: 'deny' } },
        expiresAt: 60,
        settledAt: 60,
      },
      'Denied by the default that was declared, as nobody answered in time.',
    ],
    [
      {
        settlement: 'approved',
        via: 'policy',
        onTimeout: { answer: { decision: 'deny' } },
        expiresAt: 60,
        settledAt: 0,
      },
      'Approved by a rule.',
    ],
    [
      {
        settlement: 'approved',
        via: 'http',
        by: { id: 'root' },
        answer: { decision: 'approve', updatedInput: { command: 'rm -rf /\u202e', tries: 1 } },
        updatedDigest: 'e',
      },
      'Approved as edited by root over HTTP.\nAs edited:\ncommand: rm -rf /⟦U+202E⟧\ntries: 1',
    ],
    [
      {
        settlement: 'approved',
        via: 'web',
        by: { id: 'a' },
        answer: { decision: 'approve', scope: 'session' },
      },
      'Approved for this session by a in the web app.',
    ],
    [
      {
        settlement: 'approved',
        via: 'web',
        by: { id: 'a' },
        answer: { decision: 'approve', scope: 'always' },
      },
      'Approved always by a in the web app.',
    ],
    [
      { settlement: 'denied', by: { id: 'a' }, via: 'web', message: 'no' },
      'Denied by a in the web app.\nReason: no',
    ],
    [{ settlement: 'cancelled', message: 'The session was cleared.' }, 'Cancelled. The session was cleared.'],
    [{ settlement: 'timed_out' }, 'Timed out: nobody answered in time.'],
    [{ settlement: 'superseded' }, 'A newer request replaced this one.'],
  ])('says how it ended: %j', (settled, words) => {
    expect(outcomeText({ ...approval, ...settled, status: 'settled' }, EMPTY_VIEW)).toBe(words)
  })

  it('says that changes to a plan were requested, which is not a denial', () => {
    const answer = { decision: 'adjust', feedback: 'Smaller steps.' }
    const settled = { ...plan, status: 'settled', settlement: 'denied', by: { id: 'a' }, answer } as const
    expect(outcomeText(settled, EMPTY_VIEW)).toMatch(/^Changes requested by a\.\n(.|\n)*Smaller steps\./)
  })

  it('says that a plan was edited, and shows it', () => {
    const answer = { decision: 'edit', updatedPlan: '# Q\n1. Less' }
    const settled = { ...plan, status: 'settled', settlement: 'approved', by: { id: 'a' }, answer } as const
    expect(outcomeText(settled, EMPTY_VIEW)).toBe(
      'Approved as edited by a.\nProceed\nAs edited:\n# Q\n1. Less',
    )
  })
})
