import { describe, expect, it } from 'vitest'
import { copyJson } from '@askback/protocol'
import { HistoryReader, parseHistory } from './index.js'

const lines = (...all: unknown[]) => all.map((line) => JSON.stringify(line)).join('\n')
const when = { timestamp: '2026-11-01T10:00:00.000Z' }
const at = Date.parse(when.timestamp)

const claude = (type: string, content: unknown, more: object = {}) => ({
  type,
  sessionId: 'c1',
  cwd: '/work',
  message: { role: type, content },
  ...when,
  ...more,
})
const codexMeta = { type: 'session_meta', payload: { id: 't1', cwd: '/work' }, ...when }
const codex = (payload: object, type = 'response_item') => ({ type, payload, ...when })

/** The items of a transcript of Claude Code with these lines. */
const claudeItems = (...all: unknown[]) => parseHistory(lines(...all)).items
const codexItems = (...all: object[]) =>
  parseHistory(lines(codexMeta, ...all.map((one) => ('type' in one && 'payload' in one ? one : codex(one)))))
    .items

describe('a transcript of Claude Code', () => {
  it('becomes messages, texts and tool calls', () => {
    expect(
      parseHistory(
        lines(
          { type: 'summary', summary: 'Earlier', leafUuid: 'x' },
          claude('user', '  Fix the\n  tests  '),
          claude('assistant', [{ type: 'thinking', thinking: 'Hm.', signature: 's' }]),
          claude('assistant', [{ type: 'tool_use', id: 'a', name: 'Bash', input: { command: 'ls' } }]),
          claude('user', [{ type: 'tool_result', tool_use_id: 'a', content: 'x', is_error: true }]),
          claude('assistant', [{ type: 'text', text: 'Done.' }], { sessionId: 'c2' }),
        ),
      ),
    ).toEqual({
      agent: 'claude',
      agentSessionId: 'c2',
      cwd: '/work',
      title: 'Fix the tests',
      items: [
        { type: 'user_message', at, text: '  Fix the\n  tests  ' },
        { type: 'thinking', at, text: 'Hm.' },
        { type: 'tool_call', at, toolCallId: 'a', toolName: 'Bash', input: { command: 'ls' } },
        { type: 'tool_result', at, toolCallId: 'a', output: 'x', isError: true },
        { type: 'text', at, text: 'Done.' },
      ],
    })
  })

  it.each<[string, unknown, object[]]>([
    ['messages of subagents', claude('assistant', [{ type: 'text', text: 'x' }], { isSidechain: true }), []],
    ['messages that Claude Code adds', claude('user', 'x', { isMeta: true }), []],
    ['the output of a command', claude('user', '<local-command-stdout>x</local-command-stdout>'), []],
    ['unknown blocks', claude('assistant', [{ type: 'new_block' }, null, 7]), []],
    ['messages without content', claude('user', null), []],
    ['no message at all', { ...claude('user', ''), message: 'x' }, []],
    ['a call without an id', claude('assistant', [{ type: 'tool_use', name: 'Bash' }]), []],
    ['an empty text', claude('assistant', [{ type: 'text', text: ' ' }]), []],
    ['unknown lines', { type: 'file-history-snapshot', sessionId: 'c1' }, []],
  ])('leaves out %s', (_, line, items) => {
    expect(claudeItems(claude('user', 'go'), line).slice(1)).toEqual(items)
  })

  it('shows a command as it was typed, a summary as text of the agent, and an image as [image]', () => {
    const command = '<command-name>/review</command-name>\n<command-args>all of it</command-args>'
    const picture = { type: 'image', source: { type: 'base64', data: 'x'.repeat(1_000_000) } }
    const result = {
      type: 'tool_result',
      tool_use_id: 'a',
      content: [{ type: 'text', text: 'Here:' }, picture],
    }
    expect(
      claudeItems(
        claude('user', command),
        claude('user', 'This session goes on from …', { isCompactSummary: true }),
        claude('user', [result]),
      ),
    ).toMatchObject([
      { type: 'user_message', text: '/review all of it' },
      { type: 'text' },
      { type: 'tool_result', output: 'Here:\n[image]' },
    ])
  })

  it('counts a line once, however often it occurs', () => {
    const line = claude('user', 'go', { uuid: 'u1' })
    expect(claudeItems(line, line, claude('user', 'more', { uuid: 'u2' }), line)).toHaveLength(2)
  })
})

describe('a rollout of Codex', () => {
  it('becomes messages, texts and tool calls', () => {
    expect(
      parseHistory(
        lines(
          codexMeta,
          { type: 'session_meta', payload: { id: 'parent', cwd: '/other' }, ...when },
          codex({ type: 'message', role: 'user', content: [{ type: 'input_text', text: '<environment>' }] }),
          codex({ type: 'user_message', message: 'go' }, 'event_msg'),
          codex({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] }),
          codex({ type: 'function_call', call_id: 'a', name: 'exec_command', arguments: '{"cmd":"ls"}' }),
          codex({ type: 'function_call_output', call_id: 'a', output: 'x' }),
          codex({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] }),
        ),
      ),
    ).toEqual({
      agent: 'codex',
      agentSessionId: 't1',
      cwd: '/work',
      title: 'go',
      items: [
        { type: 'user_message', at, text: 'go' },
        { type: 'thinking', at, text: 'Hm.' },
        { type: 'tool_call', at, toolCallId: 'a', toolName: 'exec_command', input: { cmd: 'ls' } },
        { type: 'tool_result', at, toolCallId: 'a', output: 'x', isError: false },
        { type: 'text', at, text: 'Done.' },
      ],
    })
  })

  it.each<[string, object, object]>([
    [
      'arguments that are no JSON',
      { type: 'function_call', call_id: 'a', name: 'f', arguments: '{"x' },
      { input: { arguments: '{"x' } },
    ],
    [
      'a patch',
      { type: 'custom_tool_call', call_id: 'a', name: 'apply_patch', input: '*** Begin' },
      { input: { input: '*** Begin' } },
    ],
    [
      'a shell of older versions',
      { type: 'local_shell_call', call_id: 'a', action: { command: ['ls'] } },
      { toolName: 'local_shell', input: { command: ['ls'] } },
    ],
    [
      'a program that failed',
      {
        type: 'function_call_output',
        call_id: 'a',
        output: 'Chunk ID: x\nProcess exited with code 2\nOutput:',
      },
      { isError: true },
    ],
    [
      'a program that failed, in older versions',
      { type: 'function_call_output', call_id: 'a', output: '{"output":"no","metadata":{"exit_code":1}}' },
      { output: 'no', isError: true },
    ],
    [
      'an output in parts',
      { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_text', text: 'x' }] },
      { output: 'x', isError: false },
    ],
    [
      'an output in an object',
      { type: 'function_call_output', call_id: 'a', output: { content: 'x', success: true } },
      { output: 'x' },
    ],
  ])('reads %s', (_, payload, expected) => {
    expect(codexItems(payload)).toMatchObject([expected])
  })

  it('leaves out unknown lines and repeated messages', () => {
    const said = codex({ type: 'user_message', message: 'go' }, 'event_msg')
    const again = { type: 'UserMessage', id: 'x', content: [{ type: 'text', text: 'go' }] }
    expect(
      codexItems(
        said,
        codex({ type: 'item_completed', item: again }, 'event_msg'),
        codex({ type: 'ghost_snapshot' }),
        codex({ type: 'token_count' }, 'event_msg'),
        { type: 'world_state', payload: {} },
        { type: 'response_item', payload: 'x' },
      ),
    ).toHaveLength(1)
  })
})

describe('a file of another program', () => {
  it('may contain values that the log refuses', () => {
    const deep: unknown = JSON.parse(`${'['.repeat(300)}${']'.repeat(300)}`)
    const odd = `{"half":"\\ud83d","many":12345678901234567890,"__proto__":{"x":1},"constructor":{"prototype":1},"\\ud800":1}`
    const items = claudeItems(
      claude('user', 'half a smile: \ud83d'),
      claude('assistant', [
        { type: 'tool_use', id: 'a', name: 'B', input: { odd: JSON.parse(odd) as unknown, deep } },
      ]),
      claude('user', [{ type: 'tool_result', tool_use_id: 'a', content: 'cut \udc00' }]),
    )
    expect(() => copyJson(items, 'items')).not.toThrow()
    expect(items[1]).toMatchObject({ input: { odd: { half: '\ufffd', many: '12345678901234567000' } } })
  })

  it('is cut where a value is too long', () => {
    const long = '✓'.repeat(400_000)
    const items = claudeItems(
      claude('user', [{ type: 'tool_result', tool_use_id: 'a', content: long }]),
      claude('assistant', [{ type: 'tool_use', id: 'b', name: 'Write', input: { content: long } }]),
      claude('assistant', [{ type: 'text', text: long }]),
    )
    expect(items[0]).toMatchObject({ truncated: 1_200_000 })
    expect((items[0] as { output: string }).output).toMatch(/^✓+$/u)
    expect(JSON.stringify(items).length).toBeLessThan(1_000_000)
  })

  it.each([
    '',
    'hello',
    '{}',
    '[1]\n{"type":"user"}',
    '{"type":"session_meta"}',
    'null\n"x"',
    '\u0000\u0001',
  ])('is no history if it is %j', (text) => {
    expect(() => parseHistory(text)).toThrow('neither a transcript of Claude Code nor a rollout of Codex')
  })

  it('has unread lines if they are no JSON, except for an unfinished last one', () => {
    const reader = new HistoryReader()
    for (const line of ['{"type":', lines(claude('user', 'go')), '', 'x', '{"type":"assis']) reader.add(line)
    expect(reader.unread).toBe(2)
    expect(reader.history().items).toHaveLength(1)
    reader.add(lines(claude('user', 'more')))
    expect(reader.unread).toBe(3)
  })
})
