// @vitest-environment happy-dom
import { asked, called, ended, settled, type ScriptedTransport } from '@askback/client/testing'
import type { Json, NewEvent } from '@askback/protocol'
import { fireEvent, screen, within } from '@testing-library/react'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Conversation } from '../index.js'
import { pass, show, stillTime } from '../show.test.helper.js'

stillTime()

function approval(input: Json, fields: { toolName?: string; [key: string]: unknown } = {}): NewEvent[] {
  const { toolName = 'Bash', ...request } = fields
  return asked('i1', { toolName, request: { input, ...request } as Json })
}

function button(name: string | RegExp): HTMLButtonElement {
  return screen.getByRole('button', { name })
}

function card(): HTMLElement {
  return document.querySelector<HTMLElement>('.ab-card')!
}

const ls = { command: 'ls -la' }

const narrow = {
  matches: false,
  addEventListener: () => undefined,
  removeEventListener: () => undefined,
} as unknown as MediaQueryList

function withFolder(transport: ScriptedTransport): void {
  void transport.create({ cwd: '/shop', agent: 'claude' })
}

describe('deciding', () => {
  it('approves once by default', async () => {
    const { user, answers } = await show({ events: approval(ls) })
    await user.click(button('Approve once'))
    expect(answers()).toEqual([{ decision: 'approve', scope: 'once' }])
  })

  it('denies, with a reason if there is one', async () => {
    const { user, answers } = await show({ events: approval(ls) })
    await user.click(button('Deny with a reason…'))
    await user.type(screen.getByRole('textbox', { name: /Reason/ }), 'Not now{Enter}')
    expect(answers()).toEqual([{ decision: 'deny', message: 'Not now' }])
  })

  it('approves for the session only after saying what that means', async () => {
    const { user, answers } = await show({ events: approval(ls) })
    await user.click(screen.getByRole('radio', { name: 'This session' }))
    screen.getByText(/with exactly this input is approved without asking/)
    screen.getByText('{"command":"ls -la"}')
    await user.click(button('Approve for this session'))
    expect(answers()).toEqual([{ decision: 'approve', scope: 'session' }])
  })

  it('shows the rule without the description that it does not compare, and says so', async () => {
    const input = { command: 'ls -la', description: 'List the files' }
    const { user } = await show({ events: approval(input) })
    await user.click(screen.getByRole('radio', { name: 'This session' }))
    const rule = document.querySelector('.ab-rule')!
    expect(rule.textContent).toMatch(/with exactly this input, whatever its description says, is approved/)
    expect(rule.textContent).toContain('{"command":"ls -la"}')
    expect(rule.textContent).not.toContain('List the files')
  })

  it('offers “always” only where there is a folder, and names it', async () => {
    const { transport, user, answers } = await show({
      ui: <Conversation sessionId="s2" />,
      change: withFolder,
    })
    transport.play('s2', ...approval(ls))
    await pass(400)
    await user.click(screen.getByRole('radio', { name: 'Always' }))
    const rule = document.querySelector('.ab-rule')!
    expect(rule.textContent).toContain('/shop')
    expect(rule.textContent).toContain('claude')
    await user.click(button('Approve always'))
    expect(answers()).toEqual([{ decision: 'approve', scope: 'always' }])
  })

  it('does not offer “always” without a folder', async () => {
    await show({ events: approval(ls) })
    expect(screen.getAllByRole('radio')).toHaveLength(2)
  })

  it('collapses to the decision, and for how long', async () => {
    const { user } = await show({ events: approval(ls) })
    await user.click(screen.getByRole('radio', { name: 'This session' }))
    await user.click(button('Approve for this session'))
    await pass(0)
    screen.getByText('Approved for this session')
    expect(card().dataset['phase']).toBe('settled')
    expect(screen.queryByRole('radio')).toBeNull()
  })

  it('says who decided where, and keeps the reason in view', async () => {
    await show({
      events: [
        ...approval(ls),
        ...settled('i1', {
          settlement: 'denied',
          message: 'Not on a Friday',
          by: { id: 'bo', name: 'Bo' },
          via: 'telegram',
        }),
      ],
    })
    expect(card().textContent).toContain('by Bo on Telegram')
    screen.getByText('Not on a Friday')
    expect(screen.queryByRole('button', { name: /Approve/ })).toBeNull()
  })
})

describe('editing', () => {
  it('approves the command as it was edited, once', async () => {
    const { user, answers } = await show({ events: approval({ ...ls, timeout: 5 }) })
    await user.click(button('Edit…'))
    const editor = screen.getByRole('textbox', { name: /command/ })
    await user.clear(editor)
    expect(button('Approve as edited').disabled).toBe(true)
    await user.type(editor, 'ls')
    expect(screen.queryByRole('radio')).toBeNull()
    await user.click(button('Approve as edited'))
    expect(answers()).toEqual([{ decision: 'approve', updatedInput: { command: 'ls', timeout: 5 } }])
  })

  it('refuses what is no JSON, and says so', async () => {
    const { user, answers } = await show({ events: approval({ a: 1 }, { toolName: 'deploy' }) })
    await user.click(button('Edit…'))
    const editor = screen.getByRole('textbox', { name: /JSON/ })
    fireEvent.change(editor, { target: { value: '{"a": 12345678901234567890}' } })
    expect(button('Approve as edited').disabled).toBe(true)
    fireEvent.change(editor, { target: { value: '{"a": 2}' } })
    await user.click(button('Approve as edited'))
    expect(answers()).toEqual([{ decision: 'approve', updatedInput: { a: 2 } }])
  })

  it('spells out what cannot be seen in the editor', async () => {
    const { user } = await show({ events: approval({ command: 'ls \u202e' }) })
    await user.click(button('Edit…'))
    screen.getByText(/can’t be seen/)
    expect(document.querySelector('.ab-editor')?.textContent).toContain('U+202E')
  })
})

describe('what is shown', () => {
  it('is the command, with its size', async () => {
    await show({ events: approval(ls) })
    screen.getByText('Run this command')
    screen.getByText('ls -la', { selector: 'pre' })
    screen.getByText('1 line · 6 bytes')
  })

  it('is the change, for an edit, before anything can be approved', async () => {
    const input = { file_path: '/a.ts', old_string: 'one\ntwo\n', new_string: 'one\nthree\n' }
    await show({ events: approval(input, { toolName: 'Edit' }), after: 400 })
    // The library that compares is loaded on demand.
    await vi.dynamicImportSettled()
    await pass(0)
    const rows = [...document.querySelectorAll('.ab-diff-row')].map((row) => row.getAttribute('data-type'))
    expect(rows).toEqual(['same', 'removed', 'added'])
    expect(button('Approve once').disabled).toBe(false)
  })

  it('is the change side by side, where somebody wants it so and there is room', async () => {
    const input = { file_path: '/a.ts', old_string: 'one\ntwo\nx\n', new_string: 'one\nthree\n' }
    const { user, reload } = await show({ events: approval(input, { toolName: 'Edit' }) })
    await vi.dynamicImportSettled()
    await pass(0)
    await user.click(button('Side by side'))
    const cells = () =>
      [...document.querySelectorAll('.ab-diff-row')].map((row) =>
        [...row.querySelectorAll('td')].map(({ lastChild }) => lastChild?.textContent ?? ''),
      )
    const sides = [
      ['', 'one', '', 'one'],
      ['', 'two', '', 'three'],
      ['', 'x', '', ''],
    ]
    expect(cells()).toEqual(sides)
    expect(button('Approve once').disabled).toBe(false)
    await reload()
    await vi.dynamicImportSettled()
    await pass(0)
    expect(cells()).toEqual(sides)

    const asked = vi.spyOn(window, 'matchMedia').mockReturnValue(narrow)
    onTestFinished(() => asked.mockRestore())
    await reload()
    await vi.dynamicImportSettled()
    await pass(0)
    expect(screen.queryByRole('button', { name: 'Side by side' })).toBeNull()
    expect(cells()[0]).toHaveLength(4)
    expect(cells()).toHaveLength(4)
  })

  it('is a new file in one column, as it has nothing to stand beside', async () => {
    await show({ events: approval({ file_path: '/a.ts', content: 'one\n' }, { toolName: 'Write' }) })
    await vi.dynamicImportSettled()
    await pass(0)
    expect(document.querySelectorAll('.ab-diff-row')).toHaveLength(1)
    expect(screen.queryByRole('button', { name: 'Side by side' })).toBeNull()
  })

  it('is the changes of each file, for a patch', async () => {
    const changes = [
      { path: '/new.ts', kind: { type: 'add' }, diff: 'one\n' },
      {
        path: '/a.ts',
        kind: { type: 'update', move_path: '/b.ts' },
        diff: '@@ -4,2 +4,2 @@\n same\n-old\n+new\n\nMoved to: /b.ts',
      },
      { path: '/gone.ts', kind: { type: 'delete' }, diff: 'was here\n' },
    ]
    await show({ events: approval({ changes }, { toolName: 'apply_patch' }), after: 400 })
    await vi.dynamicImportSettled()
    await pass(0)
    expect(screen.getAllByText('3 files').length).toBeGreaterThan(0)
    for (const note of ['New file: /new.ts', '/a.ts, moved to /b.ts', 'Deleted: /gone.ts'])
      screen.getByText(note)
    const rows = [...document.querySelectorAll('.ab-diff-row')].map((row) => [
      row.getAttribute('data-type'),
      ...[...row.querySelectorAll('.ab-diff-number')].map((cell) => cell.textContent),
      row.querySelector('.ab-diff-text')?.lastChild?.textContent,
    ])
    expect(rows).toEqual([
      ['added', '', '1', 'one'],
      ['same', '', '', '@@ -4,2 +4,2 @@'],
      ['same', '4', '4', 'same'],
      ['removed', '5', '', 'old'],
      ['added', '', '5', 'new'],
      ['same', '', '', ''],
      ['same', '', '', 'Moved to: /b.ts'],
      ['removed', '1', '', 'was here'],
    ])
  })

  it.each([
    { changes: [{ path: '/a', kind: { type: 'update' }, diff: '', also: 'rm -rf /' }] },
    { changes: [{ path: '/a', kind: { type: 'chmod', mode: 'rm -rf /' }, diff: '' }] },
    { changes: [], grantRoot: 'rm -rf /' },
  ])('is all of the JSON of a patch that has more than is known of it', async (input) => {
    await show({ events: approval(input, { toolName: 'apply_patch' }) })
    screen.getByText('rm -rf /')
  })

  it('is all of the JSON of an edit that has more than is known of it', async () => {
    const input = { file_path: '/a.ts', old_string: 'a', new_string: 'b', also: 'rm -rf /' }
    await show({ events: approval(input, { toolName: 'Edit' }) })
    screen.getByText('rm -rf /')
  })

  it('is JSON in which a text looks like one, whatever it says', async () => {
    const input = { text: 'false', fact: false, number: '7', nothing: '', blank: ' x', plain: 'seven' }
    await show({ events: approval(input, { toolName: 'deploy' }) })
    const values = [...document.querySelectorAll('.ab-json-value')].map(({ textContent }) => textContent)
    expect(values).toEqual(['"false"', 'false', '"7"', '""', '" x"', 'seven'])
  })

  it('must be opened to its end before it can be approved', async () => {
    const command = Array.from({ length: 5000 }, (_, line) => `echo line ${line}`).join('\n')
    const { answers } = await show({ events: approval({ command }) })
    screen.getByText(/^5,000 lines/)
    expect(button('Approve once').disabled).toBe(true)
    expect(screen.queryByText(/echo line 4999/)).toBeNull()
    // The first press opens it, and approves nothing.
    fireEvent.keyDown(card(), { key: 'a' })
    await pass(0)
    screen.getByText(/echo line 4999/)
    expect(answers()).toEqual([])
    expect(button('Approve once').disabled).toBe(false)
  })

  it('is what the agent says it would change, beside the input', async () => {
    const preview = { diffs: [{ path: '/shop/a.ts', oldText: 'let a\n', newText: 'const a\n' }] }
    await show({ events: approval({ file: 1 }, { toolName: 'patcher', preview }) })
    await vi.dynamicImportSettled()
    await pass(0)
    const claim = screen.getByRole('figure', { name: 'The agent says' })
    within(claim).getByText('It would make these changes')
    screen.getByText('/shop/a.ts')
    expect(button('Approve once').disabled).toBe(false)
  })

  it('must be opened to its end in what the agent shows beside it, too', async () => {
    const { user } = await show({ events: approval(ls, { preview: 'a line\n'.repeat(5000) }) })
    expect(button('Approve once').disabled).toBe(true)
    await user.click(button('Show all 5,000 lines'))
    expect(button('Approve once').disabled).toBe(false)
  })

  it('is what was approved before, where another call comes', async () => {
    const preview = { approved: { command: 'ls' }, asked: ls }
    const { user } = await show({ events: approval(ls, { preview }) })
    await user.click(screen.getByText('Another call was approved before'))
    screen.getByText('ls')
  })

  it.each<[string, Json]>([
    ['texts', ['Bash(ls:\u202e*)']],
    ['JSON', [{ type: 'addRules', rules: [{ toolName: 'Bash', ruleContent: 'ls:\u202e*' }] }]],
  ])('is what rules the agent suggests, as %s, and that they are not stored', async (_as, suggestions) => {
    const { user, answers } = await show({ events: approval(ls, { suggestions }) })
    await user.click(screen.getByText('Rules that the agent suggests'))
    expect(document.querySelector('details')?.textContent).toContain('U+202E')
    screen.getByText(/Askback stores none of these/)
    await user.click(button('Approve once'))
    expect(answers()).toEqual([{ decision: 'approve', scope: 'once' }])
  })

  it('is bound by its digest, which can be read', async () => {
    const { user, transport } = await show({ events: approval(ls) })
    await user.click(screen.getByText(/^SHA-256/))
    screen.getByText('digest-i1', { selector: 'code' })
    await user.click(button('Approve once'))
    const respond = transport.calls.find(({ method }) => method === 'respond')
    expect(respond?.args[0]).toMatchObject({ digest: 'digest-i1' })
  })

  it('counts what goes with a command as well', async () => {
    const { user } = await show({ events: approval({ command: 'ls', env: 'x\n'.repeat(100_000) }) })
    expect(button('Approve once').disabled).toBe(true)
    await user.click(button(/Show all/))
    expect(button('Approve once').disabled).toBe(false)
  })

  it('quotes what the agent says, and labels the buttons itself', async () => {
    await show({ events: approval(ls, { title: 'Approve once', reason: 'Click Approve' }) })
    const quote = document.querySelector('.ab-quote')
    expect(quote?.textContent).toContain('Click Approve')
    expect(screen.getAllByRole('button', { name: 'Approve once' })).toHaveLength(1)
  })

  it.each<[string, object]>([
    ['a title', { title: 'a claim' }],
    ['a description', { description: 'a claim' }],
    ['a reason', { reason: 'a claim' }],
    ['a path that it may not touch', { blockedPath: 'a claim' }],
    ['a preview', { preview: 'a claim' }],
    ['a preview of any shape', { preview: { note: ['a claim'] } }],
    ['changes', { preview: { diffs: [{ path: 'a claim', oldText: 'a\n', newText: 'b\n' }] } }],
    ['what was approved before', { preview: { approved: { command: 'a claim' } } }],
  ])('gives %s under the agent’s name, and nowhere else', async (_what, said) => {
    await show({ events: approval({ file: 1 }, { toolName: 'patcher', ...said }) })
    await vi.dynamicImportSettled()
    await pass(0)
    const claim = screen.getByRole('figure', { name: 'The agent says' })
    expect(claim.querySelector('figcaption')?.textContent).toBe('The agent says')
    expect(claim.querySelector('blockquote')?.textContent).toContain('a claim')
    claim.remove()
    expect(card().textContent).not.toMatch(/a claim|may touch|approved before|changes|preview/i)
  })

  it('does not say twice what the card says by itself', async () => {
    const input = { file_path: '/a.ts', content: 'x' }
    await show({ events: approval(input, { toolName: 'Write', title: 'Write /a.ts', reason: 'Needed.' }) })
    expect(document.querySelector('.ab-quote')?.textContent).toBe('Needed.')
  })

  it('says which subagent asks', async () => {
    await show({ events: asked('i1', { agentId: 'reviewer' }) })
    expect(card().textContent).toContain('asked by subagent reviewer')
  })

  it('has a block of its own when its tool call is not in the log', async () => {
    await show({ events: approval(ls) })
    screen.getByText('Waiting for input')
  })
})

describe('against a slip', () => {
  it('controls arm after 300 ms', async () => {
    const { answers } = await show({ events: approval(ls), after: 200 })
    expect(button('Approve once').disabled).toBe(true)
    fireEvent.keyDown(card(), { key: 'a' })
    await pass(150)
    expect(button('Approve once').disabled).toBe(false)
    expect(answers()).toEqual([])
  })

  it('controls arm anew when somebody comes back to the window', async () => {
    await show({ events: approval(ls) })
    fireEvent.focus(window)
    expect(button('Approve once').disabled).toBe(true)
    await pass(300)
    expect(button('Approve once').disabled).toBe(false)
  })

  it('nothing of a new card has the focus', async () => {
    const { play } = await show()
    await play(...approval(ls))
    expect(document.activeElement).toBe(document.body)
  })

  it('A approves and D denies, on the card and nowhere else', async () => {
    const { answers } = await show({ events: approval(ls) })
    fireEvent.keyDown(document.body, { key: 'a' })
    fireEvent.keyDown(card(), { key: 'a', ctrlKey: true })
    fireEvent.keyDown(card(), { key: 'a', repeat: true })
    expect(answers()).toEqual([])
    fireEvent.keyDown(card(), { key: 'd' })
    await pass(0)
    expect(answers()).toEqual([{ decision: 'deny' }])
  })

  it('Escape leaves the reason and the editor for the card', async () => {
    const { user } = await show({ events: approval(ls) })
    card().focus()
    await user.keyboard('{Shift>}D{/Shift}')
    expect(document.activeElement).toBe(screen.getByRole('textbox', { name: /Reason/ }))
    await user.keyboard('{Escape}')
    expect(document.activeElement).toBe(card())
    await user.click(button('Edit…'))
    await user.keyboard(' --all')
    fireEvent.keyDown(document.activeElement!, { key: 'Escape', isComposing: true })
    expect(document.activeElement).toBe(screen.getByRole('textbox'))
    await user.keyboard('{Escape}')
    expect(document.activeElement).toBe(card())
    screen.getByText('ls -la --all')
  })

  it('Enter held down on Approve does not press it', async () => {
    await show({ events: approval(ls) })
    const event = fireEvent.keyDown(button('Approve once'), { key: 'Enter', repeat: true })
    expect(event).toBe(false)
  })
})

it('a call that has ended closes its controls before the log says so', async () => {
  await show({
    events: [called('call-i1', { input: ls }), ...approval(ls), ended('call-i1', { isError: true })],
  })
  expect(screen.queryByRole('button', { name: /Approve/ })).toBeNull()
  screen.getByText(/Closed/)
})
