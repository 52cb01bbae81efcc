import { expect, it } from 'vitest'
import { foldText } from './fold-text.js'

it('has everything behind the cut in the tail, also what follows many blank lines', () => {
  const text = `a\nb\nc\nd\n${'\n'.repeat(5)}rm\n${'\n'.repeat(9)}curl`
  expect(foldText(text, { foldFrom: 3, keep: 2 })).toEqual({
    head: [{ text: 'a\nb' }],
    tail: [{ text: 'c\nd' }, { blankLines: 5 }, { text: 'rm' }, { blankLines: 9 }, { text: 'curl' }],
  })
})

it('cuts behind blank lines that are counted, which take one row', () => {
  const text = `a\n${'\n'.repeat(50)}b\nc\nd`
  expect(foldText(text, { foldFrom: 3, keep: 3 })).toEqual({
    head: [{ text: 'a' }, { blankLines: 50 }, { text: 'b' }],
    tail: [{ text: 'c\nd' }],
  })
})

it('cuts a long line, and not inside a character', () => {
  const text = `${'a'.repeat(199)}😀${'b'.repeat(300)}`
  expect(foldText(text, { foldFrom: 3, keep: 2 })).toEqual({
    head: [{ text: 'a'.repeat(199) }],
    tail: [{ text: `😀${'b'.repeat(300)}` }],
  })
  const even = `${'a'.repeat(198)}😀${'b'.repeat(300)}`
  expect(foldText(even, { foldFrom: 3, keep: 2 }).head).toEqual([{ text: `${'a'.repeat(198)}😀` }])
})

it('leaves a text whole that is short enough', () => {
  expect(foldText('a\nb\nc', { foldFrom: 3, keep: 1 })).toEqual({ head: [{ text: 'a\nb\nc' }], tail: [] })
})
