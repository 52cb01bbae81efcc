// @vitest-environment happy-dom
import { asked, askedQuestion, wrote } from '@askback/client/testing'
import type { Json, NewEvent } from '@askback/protocol'
import { screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { renderSession, setUpComponentTests } from './render-session.test.helper.js'

setUpComponentTests()

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
    ['in an unknown kind', asked('i1', { kind: html, presentation: 'questionnaire', request: { html } })],
    ['in a message', [{ type: 'user_message', text: html, by: { id: html } }]],
  ])('%s', async (_where, events) => {
    await renderSession({ events })
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
  ])('to %s are not clickable', async (address) => {
    await renderSession({ events: says(`[click](${address})`) })
    expect(screen.queryByRole('link')).toBeNull()
    screen.getByText('click')
  })

  it('to the web open in a new tab without access to this page', async () => {
    await renderSession({ events: says('[docs](https://example.com/a)') })
    const link = screen.getByRole('link', { name: 'docs' })
    expect(link.getAttribute('target')).toBe('_blank')
    expect(link.getAttribute('rel')).toContain('noopener')
  })

  it('to a host that imitates another show its real name', async () => {
    await renderSession({ events: says('[bank](https://p\u0430ypal.com)') })
    screen.getByText(/^xn--/)
  })

  it('to images replace the images, which are not fetched', async () => {
    await renderSession({ events: says('![pixel](https://evil.example/x.png)') })
    expect(document.querySelector('img')).toBeNull()
    screen.getByRole('link', { name: 'Image: pixel' })
  })
})

it('hidden characters are spelled out in answers, code and commands', async () => {
  await renderSession({
    events: [
      ...says('a\u202eb `c\u200bd`\n\n```\ne\u001b[31m\n```'),
      ...asked('i1', { request: { input: { command: 'f\u2066' } } }),
    ],
  })
  const spelled = [...document.querySelectorAll('.ab-hidden-character')].map(({ textContent }) => textContent)
  expect(spelled).toEqual(expect.arrayContaining(['U+202E', 'U+200B', 'ESC[31m', 'U+2066']))
})

describe('content that is too much to draw at once', () => {
  it('a megabyte on one line is folded, and all of it can be shown', async () => {
    const { user } = await renderSession({ events: says('x'.repeat(1_000_000)) })
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
  ])('many nested %s do not block the page', async (_name, text) => {
    await renderSession({
      events: [...says(text), wrote('b2', { text: 'still here', turnId: 't1', responseId: 'r1' })],
    })
    screen.getByText('still here')
  })

  it('deep JSON is drawn', async () => {
    let input: Json = 'bottom'
    for (let depth = 0; depth < 95; depth++) input = { a: input }
    const { user } = await renderSession({ events: asked('i1', { toolName: 'deep', request: { input } }) })
    await user.click(screen.getByRole('button', { name: 'Show all 191 lines' }))
    screen.getByText(/"bottom"/)
  })
})

it.each<[string, Json]>([
  ['question', { questions: 'none' }],
  ['approval', { input: undefined } as unknown as Json],
  ['plan_review', { plan: 7 }],
  ['form', { message: 'm', schema: { fields: [{ name: 'a', type: 'password' }] } }],
])('a %s with an invalid request is shown as JSON', async (kind, request) => {
  await renderSession({ events: asked('i1', { kind, request }) })
  screen.getByText(/can’t show/)
})

it('fields may have the names of built-in properties', async () => {
  const fields = ['constructor', 'toString', 'hasOwnProperty'].map((name) => ({ name, type: 'text' }))
  await renderSession({
    events: asked('i1', {
      kind: 'form',
      presentation: 'questionnaire',
      request: { message: '', schema: { fields } },
    }),
  })
  expect(screen.getAllByRole<HTMLInputElement>('textbox').map(({ value }) => value)).toEqual(['', '', ''])
})
