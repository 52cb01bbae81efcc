// @vitest-environment happy-dom
import { asked, askedQuestion, wrote } from '@askback/client/testing'
import type { Json, NewEvent } from '@askback/protocol'
import { screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { show, stillTime } from './show.test.helper.js'

stillTime()

const html = '<img src=x onerror="window.hit=1"><script>window.hit=1</script><style>*{display:none}</style>'

function says(text: string): NewEvent[] {
  return [{ type: 'turn_started', turnId: 't1' }, wrote('b1', { text, turnId: 't1', responseId: 'r1' })]
}

function expectHarmless(): void {
  expect(document.querySelector('.ab-conversation :is(script, style, iframe, img, object, form)')).toBeNull()
  expect('hit' in window).toBe(false)
}

describe('HTML from an agent is text', () => {
  it.each<[string, NewEvent[]]>([
    ['in an answer', says(html)],
    [
      'in a question',
      askedQuestion('i1', {
        request: { questions: [{ header: html, question: html, options: [{ label: html, preview: html }] }] },
      }),
    ],
    ['in a command', asked('i1', { request: { input: { command: html }, title: html, reason: html } })],
    ['in the input of a tool', asked('i1', { toolName: html, request: { input: { [html]: html } } })],
    [
      'in a plan',
      asked('i1', { kind: 'plan_review', presentation: 'questionnaire', request: { plan: html } }),
    ],
    [
      'in a form',
      asked('i1', {
        kind: 'form',
        presentation: 'questionnaire',
        request: { message: html, schema: { fields: [{ name: html, type: 'text', description: html }] } },
      }),
    ],
    [
      'in a kind that nobody knows',
      asked('i1', { kind: html, presentation: 'questionnaire', request: { html } }),
    ],
    ['in a message', [{ type: 'user_message', text: html, by: { id: html } }]],
  ])('%s', async (_where, events) => {
    await show({ events })
    expectHarmless()
    expect(document.body.textContent).toContain('onerror')
  })
})

describe('links', () => {
  it.each([
    'javascript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    '//evil',
    '/relative',
  ])('to %s lead nowhere', async (address) => {
    await show({ events: says(`[click](${address})`) })
    expect(screen.queryByRole('link')).toBeNull()
    screen.getByText('click')
  })

  it('to the web open apart, and know nothing of this page', async () => {
    await show({ events: says('[docs](https://example.com/a)') })
    const link = screen.getByRole('link', { name: 'docs' })
    expect(link.getAttribute('target')).toBe('_blank')
    expect(link.getAttribute('rel')).toContain('noopener')
  })

  it('to a host that looks like another say which it is', async () => {
    await show({ events: says('[bank](https://p\u0430ypal.com)') })
    screen.getByText(/^xn--/)
  })

  it('images are not fetched', async () => {
    await show({ events: says('![pixel](https://evil.example/x.png)') })
    expect(document.querySelector('img')).toBeNull()
    screen.getByRole('link', { name: 'Image: pixel' })
  })
})

it('hidden characters are spelled out in answers, code and commands', async () => {
  await show({
    events: [
      ...says('a\u202eb `c\u200bd`\n\n```\ne\u001b[31m\n```'),
      ...asked('i1', { request: { input: { command: 'f\u2066' } } }),
    ],
  })
  const spelled = [...document.querySelectorAll('.ab-hidden-character')].map(({ textContent }) => textContent)
  expect(spelled).toEqual(expect.arrayContaining(['U+202E', 'U+200B', 'ESC[31m', 'U+2066']))
})

describe('too much', () => {
  it('a megabyte on one line is drawn in pieces, and all of it can be reached', async () => {
    const { user } = await show({ events: says('x'.repeat(1_000_000)) })
    expect(document.querySelector('.ab-long-text')!.textContent.length).toBeLessThan(200_000)
    await user.click(screen.getByRole('button', { name: /Show all/ }))
    expect(document.querySelector('.ab-code-scroll')!.textContent).toHaveLength(1_000_000)
  })

  it.each<[string, string]>([
    ['quotes', '> '.repeat(5000)],
    ['brackets', '['.repeat(10_000)],
    ['stars', '*a '.repeat(5000)],
    ['strikes', '~~a'.repeat(5000)],
    ['numbers', '1. '.repeat(5000)],
    ['cells', '|a|b|\n|-|-|\n' + '|a|b|\n'.repeat(3000)],
    ['lists', Array.from({ length: 200 }, (_, depth) => `${'  '.repeat(depth)}- x`).join('\n')],
  ])('%s inside each other do not stop the page', async (_name, text) => {
    await show({
      events: [...says(text), wrote('b2', { text: 'still here', turnId: 't1', responseId: 'r1' })],
    })
    screen.getByText('still here')
  })

  it('deep JSON is drawn', async () => {
    let input: Json = 'bottom'
    for (let depth = 0; depth < 95; depth++) input = { a: input }
    const { user } = await show({ events: asked('i1', { toolName: 'deep', request: { input } }) })
    await user.click(screen.getByRole('button', { name: 'Show all 191 lines' }))
    screen.getByText(/"bottom"/)
  })
})

it.each<[string, Json]>([
  ['question', { questions: 'none' }],
  ['approval', { input: undefined } as unknown as Json],
  ['plan_review', { plan: 7 }],
  ['form', { message: 'm', schema: { fields: [{ name: 'a', type: 'password' }] } }],
])('a %s whose request is none is shown as JSON', async (kind, request) => {
  await show({ events: asked('i1', { kind, request }) })
  screen.getByText(/can’t show/)
})

it('names that every object has are names like others', async () => {
  const fields = ['constructor', 'toString', 'hasOwnProperty'].map((name) => ({ name, type: 'text' }))
  await show({
    events: asked('i1', {
      kind: 'form',
      presentation: 'questionnaire',
      request: { message: '', schema: { fields } },
    }),
  })
  expect(screen.getAllByRole<HTMLInputElement>('textbox').map(({ value }) => value)).toEqual(['', '', ''])
})
