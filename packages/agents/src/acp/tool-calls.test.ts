import { digestOf } from '@askback/protocol'
import { expect, it } from 'vitest'
import type { AcpToolCall } from './protocol.js'
import { ToolCalls } from './tool-calls.js'

const edit = (newText: string, more: Partial<AcpToolCall> = {}): AcpToolCall => ({
  toolCallId: 'c',
  kind: 'edit',
  title: 'Edit a.ts',
  locations: [{ path: '/work/a.ts' }],
  content: [{ type: 'diff', path: '/work/a.ts', oldText: 'old', newText }],
  ...more,
})

function knownCall(call: AcpToolCall) {
  const calls = new ToolCalls()
  calls.update(call)
  return calls.get('c')
}

it.each([[undefined], [null], [{}]])(
  'has the changes as its input if the agent sends the input %j',
  (rawInput) => {
    expect(knownCall(edit('new', { rawInput })).input).toEqual({
      title: 'Edit a.ts',
      paths: ['/work/a.ts'],
      changes: [{ path: '/work/a.ts', oldText: 'old', newText: 'new' }],
    })
  },
)

it('needs another approval if its changes are different', () => {
  const digests = ['new', 'newer'].map((text) => {
    const { toolName, input } = knownCall(edit(text))
    return digestOf(toolName, input)
  })
  expect(digests[0]).not.toBe(digests[1])
})

it('has the input that the agent sends', () => {
  expect(knownCall(edit('new', { rawInput: { path: 'a.ts' } })).input).toEqual({ path: 'a.ts' })
})
