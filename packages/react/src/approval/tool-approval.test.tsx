// @vitest-environment happy-dom
import { asked, called, ended, settled, type ScriptedTransport } from '@askback/client/testing'
import type { Json, NewEvent } from '@askback/protocol'
import { fireEvent, screen, within } from '@testing-library/react'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Conversation } from '../index.js'
import { advanceTime, renderSession, setUpComponentTests } from '../render-session.test.helper.js'

setUpComponentTests()

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
    const { user, answers } = await renderSession({ events: approval(ls) })
    await user.click(button('Approve once'))
    expect(answers()).toEqual([{ decision: 'approve', scope: 'once' }])
  })

  it('denies, with a reason if there is one', async () => {
    const { user, answers } = await renderSession({ events: approval(ls) })
    await user.click(button('Deny with a reason…'))
    await user.type(screen.getByRole('textbox', { name: /Reason/ }), 'Not now{Enter}')
    expect(answers()).toEqual([{ decision: 'deny', message: 'Not now' }])
  })

  it('shows the rule before approving for the session', async () => {
    const { user, answers } = await renderSession({ events: approval(ls) })
    await user.click(screen.getByRole('radio', { name: 'This session' }))
    screen.getByText(/with exactly this input is approved without asking/)
    screen.getByText('{"command":"ls -la"}')
    await user.click(button('Approve for this session'))
    expect(answers()).toEqual([{ decision: 'approve', scope: 'session' }])
  })

  it('shows the rule without the description, which it does not compare, and says so', async () => {
    const input = { command: 'ls -la', description: 'List the files' }
    const { user } = await renderSession({ events: approval(input) })
    await user.click(screen.getByRole('radio', { name: 'This session' }))
    const rule = document.querySelector('.ab-rule')!
    expect(rule.textContent).toMatch(/with exactly this input, whatever its description says, is approved/)
    expect(rule.textContent).toContain('{"command":"ls -la"}')
    expect(rule.textContent).not.toContain('List the files')
  })

  it('offers “always” in a session with a folder, and names the folder', async () => {
    const { transport, user, answers } = await renderSession({
      ui: <Conversation sessionId="s2" />,
      prepareTransport: withFolder,
    })
    transport.play('s2', ...approval(ls))
    await advanceTime(400)
    await user.click(screen.getByRole('radio', { name: 'Always' }))
    const rule = document.querySelector('.ab-rule')!
    expect(rule.textContent).toContain('/shop')
    expect(rule.textContent).toContain('claude')
    await user.click(button('Approve always'))
    expect(answers()).toEqual([{ decision: 'approve', scope: 'always' }])
  })

  it('does not offer “always” without a folder', async () => {
    await renderSession({ events: approval(ls) })
    expect(screen.getAllByRole('radio')).toHaveLength(2)
  })

  it('collapses to the decision and its scope', async () => {
    const { user } = await renderSession({ events: approval(ls) })
    await user.click(screen.getByRole('radio', { name: 'This session' }))
    await user.click(button('Approve for this session'))
    await advanceTime(0)
    screen.getByText('Approved for this session')
    expect(card().dataset['phase']).toBe('settled')
    expect(screen.queryByRole('radio')).toBeNull()
  })

  it('says who decided and where, and keeps showing the reason', async () => {
    await renderSession({
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
    const { user, answers } = await renderSession({ events: approval({ ...ls, timeout: 5 }) })
    await user.click(button('Edit…'))
    const editor = screen.getByRole('textbox', { name: /command/ })
    await user.clear(editor)
    expect(button('Approve as edited').disabled).toBe(true)
    await user.type(editor, 'ls')
    expect(screen.queryByRole('radio')).toBeNull()
    await user.click(button('Approve as edited'))
    expect(answers()).toEqual([{ decision: 'approve', updatedInput: { command: 'ls', timeout: 5 } }])
  })

  it('refuses input that is not valid JSON', async () => {
    const { user, answers } = await renderSession({ events: approval({ a: 1 }, { toolName: 'deploy' }) })
    await user.click(button('Edit…'))
    const editor = screen.getByRole('textbox', { name: /JSON/ })
    fireEvent.change(editor, { target: { value: '{"a": 12345678901234567890}' } })
    expect(button('Approve as edited').disabled).toBe(true)
    fireEvent.change(editor, { target: { value: '{"a": 2}' } })
    await user.click(button('Approve as edited'))
    expect(answers()).toEqual([{ decision: 'approve', updatedInput: { a: 2 } }])
  })

  it('spells out invisible characters of the editor', async () => {
    const { user } = await renderSession({ events: approval({ command: 'ls \u202e' }) })
    await user.click(button('Edit…'))
    screen.getByText(/can’t be seen/)
    expect(document.querySelector('.ab-editor')?.textContent).toContain('U+202E')
  })
})

describe('what is shown', () => {
  it('is the command, with its size', async () => {
    await renderSession({ events: approval(ls) })
    screen.getByText('Run this command')
    screen.getByText('ls -la', { selector: 'pre' })
    screen.getByText('1 line · 6 bytes')
  })

  it('is the change, for an edit, before anything can be approved', async () => {
    const input = { file_path: '/a.ts', old_string: 'one\ntwo\n', new_string: 'one\nthree\n' }
    await renderSession({ events: approval(input, { toolName: 'Edit' }), waitMs: 400 })
    // The diff library is loaded on demand.
    await vi.dynamicImportSettled()
    await advanceTime(0)
    const rows = [...document.querySelectorAll('.ab-diff-row')].map((row) => row.getAttribute('data-type'))
    expect(rows).toEqual(['same', 'removed', 'added'])
    expect(button('Approve once').disabled).toBe(false)
  })

  it('is the change side by side, if the person chose that and the window is wide enough', async () => {
    const input = { file_path: '/a.ts', old_string: 'one\ntwo\nx\n', new_string: 'one\nthree\n' }
    const { user, reload } = await renderSession({ events: approval(input, { toolName: 'Edit' }) })
    await vi.dynamicImportSettled()
    await advanceTime(0)
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
    await advanceTime(0)
    expect(cells()).toEqual(sides)

    const asked = vi.spyOn(window, 'matchMedia').mockReturnValue(narrow)
    onTestFinished(() => asked.mockRestore())
    await reload()
    await vi.dynamicImportSettled()
    await advanceTime(0)
    expect(screen.queryByRole('button', { name: 'Side by side' })).toBeNull()
    expect(cells()[0]).toHaveLength(4)
    expect(cells()).toHaveLength(4)
  })

  it('is a new file in one column', async () => {
    await renderSession({ events: approval({ file_path: '/a.ts', content: 'one\n' }, { toolName: 'Write' }) })
    await vi.dynamicImportSettled()
    await advanceTime(0)
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
    await renderSession({ events: approval({ changes }, { toolName: 'apply_patch' }), waitMs: 400 })
    await vi.dynamicImportSettled()
    await advanceTime(0)
    expect(screen.getAllByText('3 files').length).toBeGreaterThan(0)
    const notes = [...document.querySelectorAll('.ab-diff-note')].map(({ textContent }) =>
      textContent?.trim(),
    )
    expect(notes).toEqual(['New file /new.ts', '/a.ts moved to /b.ts', 'Deleted /gone.ts'])
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
  ])('is the whole JSON of a patch with unknown fields', async (input) => {
    await renderSession({ events: approval(input, { toolName: 'apply_patch' }) })
    screen.getByText('rm -rf /')
  })

  it('is the whole JSON of an edit with unknown fields', async () => {
    const input = { file_path: '/a.ts', old_string: 'a', new_string: 'b', also: 'rm -rf /' }
    await renderSession({ events: approval(input, { toolName: 'Edit' }) })
    screen.getByText('rm -rf /')
  })

  it('is JSON in which strings cannot be mistaken for other values', async () => {
    const input = { text: 'false', fact: false, number: '7', nothing: '', blank: ' x', plain: 'seven' }
    await renderSession({ events: approval(input, { toolName: 'deploy' }) })
    const values = [...document.querySelectorAll('.ab-json-value')].map(({ textContent }) => textContent)
    expect(values).toEqual(['"false"', 'false', '"7"', '""', '" x"', 'seven'])
  })

  it('must be unfolded to its end before it can be approved', async () => {
    const command = Array.from({ length: 5000 }, (_, line) => `echo line ${line}`).join('\n')
    const { answers } = await renderSession({ events: approval({ command }) })
    screen.getByText(/^5,000 lines/)
    expect(button('Approve once').disabled).toBe(true)
    expect(screen.queryByText(/echo line 4999/)).toBeNull()
    // The first press unfolds the command, and approves nothing.
    fireEvent.keyDown(card(), { key: 'a' })
    await advanceTime(0)
    screen.getByText(/echo line 4999/)
    expect(answers()).toEqual([])
    expect(button('Approve once').disabled).toBe(false)
  })

  it('includes the changes that the agent announces, next to the input', async () => {
    const preview = { diffs: [{ path: '/shop/a.ts', oldText: 'let a\n', newText: 'const a\n' }] }
    await renderSession({ events: approval({ file: 1 }, { toolName: 'patcher', preview }) })
    await vi.dynamicImportSettled()
    await advanceTime(0)
    const claim = screen.getByRole('figure', { name: 'The agent says' })
    within(claim).getByText('It would make these changes')
    screen.getByText('/shop/a.ts')
    expect(button('Approve once').disabled).toBe(false)
  })

  it('must be unfolded to its end in the preview of the agent, too', async () => {
    const { user } = await renderSession({ events: approval(ls, { preview: 'a line\n'.repeat(5000) }) })
    expect(button('Approve once').disabled).toBe(true)
    await user.click(button('Show all 5,000 lines'))
    expect(button('Approve once').disabled).toBe(false)
  })

  it('includes the call that was approved before, if another one follows', async () => {
    const preview = { approved: { command: 'ls' }, asked: ls }
    const { user } = await renderSession({ events: approval(ls, { preview }) })
    await user.click(screen.getByText('Another call was approved before'))
    screen.getByText('ls')
  })

  it.each<[string, Json]>([
    ['texts', ['Bash(ls:\u202e*)']],
    ['JSON', [{ type: 'addRules', rules: [{ toolName: 'Bash', ruleContent: 'ls:\u202e*' }] }]],
  ])(
    'includes the rules that the agent suggests as %s, and says that they are not stored',
    async (_as, suggestions) => {
      const { user, answers } = await renderSession({ events: approval(ls, { suggestions }) })
      await user.click(screen.getByText('Rules that the agent suggests'))
      expect(document.querySelector('details')?.textContent).toContain('U+202E')
      screen.getByText(/Askback stores none of these/)
      await user.click(button('Approve once'))
      expect(answers()).toEqual([{ decision: 'approve', scope: 'once' }])
    },
  )

  it('is bound by its digest, which is shown', async () => {
    const { user, transport } = await renderSession({ events: approval(ls) })
    await user.click(screen.getByText(/^SHA-256/))
    screen.getByText('digest-i1', { selector: 'code' })
    await user.click(button('Approve once'))
    const respond = transport.calls.find(({ method }) => method === 'respond')
    expect(respond?.args[0]).toMatchObject({ digest: 'digest-i1' })
  })

  it('includes the other fields of a command, which must be unfolded too', async () => {
    const { user } = await renderSession({ events: approval({ command: 'ls', env: 'x\n'.repeat(100_000) }) })
    expect(button('Approve once').disabled).toBe(true)
    await user.click(button(/Show all/))
    expect(button('Approve once').disabled).toBe(false)
  })

  it('says which subagent asks', async () => {
    await renderSession({ events: asked('i1', { agentId: 'reviewer' }) })
    expect(card().textContent).toContain('asked by subagent reviewer')
  })

  it('has a block of its own when its tool call is not in the log', async () => {
    await renderSession({ events: approval(ls) })
    screen.getByText('Waiting for input')
  })
})

describe('protection against accidental presses', () => {
  it('controls arm after 300 ms', async () => {
    const { answers } = await renderSession({ events: approval(ls), waitMs: 200 })
    expect(button('Approve once').disabled).toBe(true)
    fireEvent.keyDown(card(), { key: 'a' })
    await advanceTime(150)
    expect(button('Approve once').disabled).toBe(false)
    expect(answers()).toEqual([])
  })

  it('controls arm again after the person returns to the window', async () => {
    await renderSession({ events: approval(ls) })
    fireEvent.focus(window)
    expect(button('Approve once').disabled).toBe(true)
    await advanceTime(300)
    expect(button('Approve once').disabled).toBe(false)
  })

  it('a new card does not take the focus', async () => {
    const { play } = await renderSession()
    await play(...approval(ls))
    expect(document.activeElement).toBe(document.body)
  })

  it('A approves and D denies, on the card and nowhere else', async () => {
    const { answers } = await renderSession({ events: approval(ls) })
    fireEvent.keyDown(document.body, { key: 'a' })
    fireEvent.keyDown(card(), { key: 'a', ctrlKey: true })
    fireEvent.keyDown(card(), { key: 'a', repeat: true })
    expect(answers()).toEqual([])
    fireEvent.keyDown(card(), { key: 'd' })
    await advanceTime(0)
    expect(answers()).toEqual([{ decision: 'deny' }])
  })

  it('Escape moves the focus from the reason and the editor to the card', async () => {
    const { user } = await renderSession({ events: approval(ls) })
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

  it('holding Enter on Approve does not press it', async () => {
    await renderSession({ events: approval(ls) })
    const event = fireEvent.keyDown(button('Approve once'), { key: 'Enter', repeat: true })
    expect(event).toBe(false)
  })
})

it('the controls close when the tool call ends, before the request is settled', async () => {
  await renderSession({
    events: [called('call-i1', { input: ls }), ...approval(ls), ended('call-i1', { isError: true })],
  })
  expect(screen.queryByRole('button', { name: /Approve/ })).toBeNull()
  screen.getByText(/Closed/)
})
