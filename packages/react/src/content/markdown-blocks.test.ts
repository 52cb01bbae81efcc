import { expect, it } from 'vitest'
import { linkedMarkdownBlocks, markdownBlocks } from './markdown-blocks.js'

it.each([
  ['paragraphs apart', 'one\n\ntwo\n\n\nthree', ['one', 'two', 'three']],
  ['a fence whole', '```\na\n\nb\n```\n\nend', ['```\na\n\nb\n```', 'end']],
  ['a fence inside a longer one', '````\n```\n\n````\n\nend', ['````\n```\n\n````', 'end']],
  ['an open fence whole', 'a\n\n~~~\nb\n\nc', ['a', '~~~\nb\n\nc']],
  ['a loose list whole', '- a\n\n- b\n\n  more\n\nend', ['- a\n\n- b\n\n  more', 'end']],
  ['nothing as nothing', '\n\n', []],
])('divides %s', (_name, text, blocks) => {
  expect(markdownBlocks(text)).toEqual(blocks)
})

it('adds link definitions to every block', () => {
  const [first] = linkedMarkdownBlocks('see [a]\n\n[a]: https://example.com')
  expect(first).toContain('[a]: https://example.com')
})
