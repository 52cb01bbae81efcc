import { describe, expect, it } from 'vitest'
import { changesInPreview } from './approval.js'

const change = { path: 'a.ts', oldText: '', newText: 'one' }

describe('the changes in a preview', () => {
  it('are all that the agent lists, in its order', () => {
    const diffs = [change, { ...change, path: 'b.ts' }]
    expect(changesInPreview({ diffs })).toEqual(diffs)
  })

  it.each([
    [null],
    ['a text'],
    [{ diffs: [] }],
    [{ diffs: change }],
    [{ diffs: [change, { ...change, oldText: null }] }],
    [{ diffs: [change, [change]] }],
    [{ approved: { command: 'ls' } }],
  ])('are none if a part has another form: %j', (preview) => {
    expect(changesInPreview(preview)).toBeNull()
  })
})
