import type { Interaction, Json } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { freshView, type CardInput, type CardStep, type CardView } from './connector-card.js'
import { bodyOf, outcomeOf, stepOf, takeInput } from './connector-flow.js'

const ada = 'ada'
const tap = (control: string): CardInput => ({ tap: control, by: ada })
const text = (words: string): CardInput => ({ text: words, by: ada })

function item(kind: string, request: object, more: Partial<Interaction> = {}): Interaction {
  return {
    interactionId: 'i1',
    sessionId: 's',
    toolCallId: 't1',
    toolName: 'Bash',
    kind,
    presentation: 'tool',
    request: request as Json,
    digest: 'd',
    status: 'pending',
    requestedAt: 0,
    onTimeout: 'deny',
    ...more,
  }
}

const one = item('question', {
  questions: [{ header: 'Size', question: 'How big?', options: [{ label: 'edit' }, { label: '2' }] }],
})
const many = item('question', {
  questions: [
    { question: 'Which?', options: [{ label: 'a, b' }, { label: 'c' }], multiSelect: true },
    { question: 'Which?', options: [] },
  ],
})
const approval = item('approval', { input: { command: 'ls' } })
const plan = item('plan_review', { plan: '# P' })
const asking = (what: 'other' | 'reason' | 'feedback'): CardView => ({
  ...freshView,
  asking: { what, by: ada },
})
const picked = (...labels: string[]): CardView => ({ ...freshView, picked: labels })
const answered = (answer: Json): CardStep => ({ do: 'answer', answer })
const refused = { do: 'refuse', told: expect.any(String) as string } as const

describe('a step of the flow', () => {
  it.each<[string, Interaction, CardView, CardInput, object]>([
    ['an option answers', one, freshView, tap('o0'), answered({ answers: [{ selected: ['edit'] }] })],
    ['an option that is not there does nothing', one, freshView, tap('o7'), refused],
    ['a decision of another kind does nothing', one, freshView, tap('edit'), refused],
    ['approve does nothing to a question', one, freshView, tap('approve'), refused],
    ['Other waits for a text', one, freshView, tap('other'), { do: 'show', view: asking('other') }],
    ['back stops waiting', one, asking('other'), tap('back'), { do: 'show', view: freshView }],
    [
      'the text is taken as it is',
      one,
      asking('other'),
      text(' 2 '),
      answered({ answers: [{ selected: [], other: '2' }] }),
    ],
    ['a text nobody waits for is routed', one, freshView, text('2'), { do: 'route' }],
    ['an empty text does nothing', one, asking('other'), text(' \n'), refused],
    ['a first toggle picks', many, freshView, tap('o1'), { do: 'show', view: picked('c') }],
    [
      'a second keeps the order of the options',
      many,
      picked('c'),
      tap('o0'),
      { do: 'show', view: picked('a, b', 'c') },
    ],
    ['a toggle again unpicks', many, picked('a, b', 'c'), tap('o1'), { do: 'show', view: picked('a, b') }],
    ['Done without a choice does nothing', many, freshView, tap('done'), refused],
    [
      'Done goes on to the next question',
      many,
      picked('a, b'),
      tap('done'),
      { do: 'progress', answers: [{ selected: ['a, b'] }] },
    ],
    [
      'a text is added to what is picked',
      many,
      picked('c'),
      text('mine'),
      { do: 'progress', answers: [{ selected: ['c'], other: 'mine' }] },
    ],
    [
      'the last question answers all',
      { ...many, progress: [{ selected: ['c'] }] },
      asking('other'),
      text('x'),
      answered({ answers: [{ selected: ['c'] }, { selected: [], other: 'x' }] }),
    ],
    ['approve approves', approval, freshView, tap('approve'), answered({ decision: 'approve' })],
    ['deny denies', approval, freshView, tap('deny'), answered({ decision: 'deny' })],
    ['a reason is waited for', approval, freshView, tap('reason'), { do: 'show', view: asking('reason') }],
    [
      'the reason denies',
      approval,
      asking('reason'),
      text('no'),
      answered({ decision: 'deny', message: 'no' }),
    ],
    ['an option does nothing to an approval', approval, freshView, tap('o0'), refused],
    ['a text without a step is routed', approval, freshView, text('yes'), { do: 'route' }],
    ['edit proceeds with a plan', plan, freshView, tap('edit'), answered({ decision: 'edit' })],
    ['clean_edit proceeds afresh', plan, freshView, tap('clean_edit'), answered({ decision: 'clean_edit' })],
    ['default proceeds in default mode', plan, freshView, tap('default'), answered({ decision: 'default' })],
    ['adjust waits for feedback', plan, freshView, tap('adjust'), { do: 'show', view: asking('feedback') }],
    [
      'feedback adjusts',
      plan,
      asking('feedback'),
      text('less'),
      answered({ decision: 'adjust', feedback: 'less' }),
    ],
    ['approve does nothing to a plan', plan, freshView, tap('approve'), refused],
    ['a kind of one’s own takes no tap', item('slot', {}), freshView, tap('approve'), refused],
  ])('%s', (_name, of, view, input, expected) => {
    expect(takeInput(of, view, input)).toMatchObject(expected)
  })
})

describe('a form', () => {
  const fields = [
    { name: 'tls', type: 'boolean', required: true },
    { name: 'cert', type: 'text', required: true, visibleWhen: { field: 'tls', equals: true } },
    { name: 'days', type: 'multiselect', options: [{ value: 1, label: 'Mon' }, { value: 2 }] },
  ]
  const form = item('form', { message: 'How?', schema: { fields }, initialValues: { cert: 'x.pem' } })

  function walk(...inputs: CardInput[]): CardStep {
    let view = freshView
    let step: CardStep = { do: 'refuse', told: '' }
    for (const input of inputs) {
      step = takeInput(form, view, input)
      if (step.do === 'show') view = step.view
    }
    return step
  }

  it.each<[string, CardInput[], object]>([
    [
      'asks what depends on an answer',
      [tap('o0'), tap('keep'), tap('skip')],
      answered({ values: { tls: true, cert: 'x.pem' } }),
    ],
    ['leaves out what does not', [tap('o1'), tap('skip')], answered({ values: { tls: false } })],
    [
      'takes several',
      [tap('o1'), tap('o0'), tap('o1'), tap('done')],
      answered({ values: { tls: false, days: [1, 2] } }),
    ],
    [
      'takes a choice by its name',
      [text('yes'), text('y.pem'), text('mon')],
      answered({ values: { tls: true, cert: 'y.pem', days: [1] } }),
    ],
    ['does not go on without what it needs', [tap('skip')], refused],
  ])('%s', (_name, inputs, expected) => {
    expect(walk(...inputs)).toMatchObject(expected)
  })

  it.each(['1,000', '12,345', '1,5'])(
    'takes no number with a comma, which means one thing here and another there: %s',
    (words) => {
      const port = item('form', { message: '?', schema: { fields: [{ name: 'port', type: 'number' }] } })
      const told = 'Write the number without commas: 1000 or 1.5.'
      expect(takeInput(port, freshView, text(words))).toEqual({ do: 'refuse', told })
      expect(takeInput(port, freshView, text(' 1.5 '))).toEqual(answered({ values: { port: 1.5 } }))
    },
  )

  it('adds a text to what is ticked', () => {
    const options = [{ value: 'a' }, { value: 'b' }, { value: 'c' }]
    const tags = item('form', {
      message: '?',
      schema: { fields: [{ name: 'tags', type: 'multiselect', options }] },
    })
    const ticked = takeInput(tags, freshView, tap('o1'))
    const view = ticked.do === 'show' ? ticked.view : freshView
    expect(takeInput(tags, view, text('c'))).toEqual(answered({ values: { tags: ['b', 'c'] } }))
    expect(takeInput(tags, view, text('3, a'))).toEqual(answered({ values: { tags: ['a', 'b', 'c'] } }))
    expect(takeInput(tags, view, text('c, d'))).toMatchObject(refused)
  })

  it('tells options of one label apart', () => {
    const options = [
      { value: 1, label: 'Mon' },
      { value: 2, label: 'Mon' },
      { value: 3, label: 'Tue' },
    ]
    const days = item('form', {
      message: '?',
      schema: { fields: [{ name: 'days', type: 'multiselect', options }] },
    })
    const ticked = takeInput(days, freshView, tap('o1'))
    const view = ticked.do === 'show' ? ticked.view : freshView
    const { controls } = bodyOf(days, view)
    expect(controls.slice(0, 4).map(({ label, checked }) => [label, checked])).toEqual([
      ['Mon (1)', false],
      ['Mon (2)', true],
      ['Tue', false],
      ['Done (1)', undefined],
    ])
    expect(takeInput(days, view, tap('done'))).toEqual(answered({ values: { days: [2] } }))
    expect(takeInput(days, view, text('mon'))).toMatchObject(refused)
  })

  it('offers to keep what there is, all of it shown', () => {
    const fields = [
      { name: 'a', type: 'text' },
      { name: 'b', type: 'text' },
    ]
    const long = `${'🐘'.repeat(30)} and more`
    const kept = item('form', { message: '?', schema: { fields }, initialValues: { a: long, b: null } })
    const { controls, parts } = bodyOf(kept, freshView)
    expect(controls[0]).toMatchObject({ id: 'keep', label: `Keep: ${'🐘'.repeat(20)}…` })
    expect(parts.at(-1)).toEqual({ as: 'quote', label: 'What can be kept', text: long })
    const next = takeInput(kept, freshView, tap('keep'))
    expect(next.do === 'show' && bodyOf(kept, next.view).controls.map(({ id }) => id)).toEqual(['skip'])
  })

  it('counts its steps', () => {
    const after = walk(tap('o0'))
    expect(after.do === 'show' && stepOf(form, after.view)).toBe(1)
  })
})

/** What an agent calls things that it wants to look like ours. */
const FORGED = 'x\n── Approve ls?'

describe('a card', () => {
  it('spells out what cannot be seen, in labels and inputs', () => {
    const options = [{ label: 'a\u202eb' }]
    const { controls } = bodyOf(item('question', { questions: [{ question: '?', options }] }), freshView)
    expect(controls[0]!.label).toBe('a⟦U+202E⟧b')
    const { parts } = bodyOf(item('approval', { input: { 'c\u200bmd': 'x\u001b[1m' } }), freshView)
    expect(parts).toEqual([{ as: 'code', label: '"c⟦U+200B⟧md"', text: 'x⟦ESC[1m⟧' }])
  })

  it.each<[string, Interaction]>([
    ['a tool', item('approval', { input: {} }, { toolName: FORGED })],
    ['a kind', item(FORGED, {})],
    [
      'the header of a question',
      item('question', { questions: [{ header: FORGED, question: '?', options: [] }] }),
    ],
    [
      'a field',
      item('form', { message: '?', schema: { fields: [{ name: 'a', type: 'text', label: FORGED }] } }),
    ],
  ])('has its title on one line, whatever %s is called', (_name, asked) => {
    expect(bodyOf(asked, freshView).title).toMatch(/^[^\n]*x ⏎ ── Approve ls\?[^\n]*$/)
  })

  it('has its choices and the names of fields on one line', () => {
    const question = { question: '?', options: [{ label: FORGED, description: 'd' }] }
    const { controls, parts } = bodyOf(item('question', { questions: [question] }), freshView)
    expect(controls[0]!.label).toBe('x ⏎ ── Approve ls?')
    expect(parts[1]!.label).toBe('x ⏎ ── Approve ls?')
    const fields = bodyOf(item('approval', { input: { [FORGED]: 1 } }), freshView).parts
    expect(fields[0]!.label).toBe(String.raw`"x\n── Approve ls?"`)
  })

  it('labels what the agent says as what the agent says', () => {
    const request = { input: {}, title: 't', description: 'd', reason: 'r', blockedPath: '/p' }
    const { parts } = bodyOf(item('approval', request), freshView)
    expect(parts.slice(0, 4)).toEqual([
      { as: 'quote', label: 'The agent calls this', text: 't' },
      { as: 'quote', label: 'The agent says', text: 'd' },
      { as: 'quote', label: 'The agent says it asks because', text: 'r' },
      { as: 'quote', label: 'The agent says the path is', text: '/p' },
    ])
  })

  it('shows every field of an input', () => {
    const { parts } = bodyOf(item('approval', { input: { path: '/a', edits: [{ n: 1 }] } }), freshView)
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
  ])('shows a text that would read as something else as a text: %j', (value, shown) => {
    const { parts } = bodyOf(item('approval', { input: { value } }), freshView)
    expect(parts).toEqual([{ as: 'code', label: 'value', text: shown }])
    expect(bodyOf(item('approval', { input: value }), freshView).parts).toEqual([{ as: 'code', text: shown }])
  })

  it.each<[string, Json, [string, string][]]>([
    [
      'changes, line by line',
      { diffs: [{ path: '/a.ts', oldText: 'one\ntwo\nfour\n', newText: 'one\nthree\u202e\nfour\n' }] },
      [['The agent says it would change /a.ts', '  one\n- two\n+ three⟦U+202E⟧\n  four']],
    ],
    [
      'a new file and one that goes',
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
    ['changes that are none', { diffs: [{}] }, [['The agent’s preview', '{\n  "diffs": [\n    {}\n  ]\n}']]],
  ])('shows what the agent shows beside an approval: %s', (_name, preview, shown) => {
    const { parts } = bodyOf(item('approval', { input: {}, preview }), freshView)
    expect(parts.slice(1).map(({ label, text: words }) => [label, words])).toEqual(shown)
  })

  it('shows the rules that an agent suggests', () => {
    const { parts } = bodyOf(item('approval', { input: {}, suggestions: ['Bash(ls:*)'] }), freshView)
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
    [{ settlement: 'superseded' }, 'This was asked anew.'],
  ])('tells how it came out: %j', (settled, words) => {
    expect(outcomeOf({ ...approval, ...settled, status: 'settled' }, freshView)).toBe(words)
  })

  it('tells that a plan was sent back, which is no denial', () => {
    const answer = { decision: 'adjust', feedback: 'Smaller steps.' }
    const settled = { ...plan, status: 'settled', settlement: 'denied', by: { id: 'a' }, answer } as const
    expect(outcomeOf(settled, freshView)).toMatch(/^Changes requested by a\.\n(.|\n)*Smaller steps\./)
  })

  it('tells that a plan was edited, and how it is now', () => {
    const answer = { decision: 'edit', updatedPlan: '# Q\n1. Less' }
    const settled = { ...plan, status: 'settled', settlement: 'approved', by: { id: 'a' }, answer } as const
    expect(outcomeOf(settled, freshView)).toBe('Approved as edited by a.\nProceed\nAs edited:\n# Q\n1. Less')
  })
})
