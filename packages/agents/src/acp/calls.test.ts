import { digestOf } from '@askback/protocol'
import { expect, it } from 'vitest'
import { Calls } from './calls.js'
import type { ToolCall } from './protocol.js'

const edit = (newText: string, more: Partial<ToolCall> = {}): ToolCall => ({
  toolCallId: 'c',
  kind: 'edit',
  title: 'Edit a.ts',
  locations: [{ path: '/work/a.ts' }],
  content: [{ type: 'diff', path: '/work/a.ts', oldText: 'old', newText }],
  ...more,
})

function known(call: ToolCall) {
  const calls = new Calls()
  calls.update(call)
  return calls.known('c')
}

it.each([[undefined], [null], [{}]])('has the changes as its input where the agent tells %j', (rawInput) => {
  expect(known(edit('new', { rawInput })).input).toEqual({
    title: 'Edit a.ts',
    paths: ['/work/a.ts'],
    changes: [{ path: '/work/a.ts', oldText: 'old', newText: 'new' }],
  })
})

it('is another call to approve when its changes are others', () => {
  const digests = ['new', 'newer'].map((text) => {
    const { toolName, input } = known(edit(text))
    return digestOf(toolName, input)
  })
  expect(digests[0]).not.toBe(digests[1])
})

it('has the input that the agent tells', () => {
  expect(known(edit('new', { rawInput: { path: 'a.ts' } })).input).toEqual({ path: 'a.ts' })
})
