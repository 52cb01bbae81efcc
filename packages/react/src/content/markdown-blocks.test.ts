import { expect, it } from 'vitest'
import { chunksOf } from './chunks.js'
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

it('gives every block the addresses that its links name', () => {
  const [first] = linkedMarkdownBlocks('see [a]\n\n[a]: https://example.com')
  expect(first).toContain('[a]: https://example.com')
})

it('pieces of a long text are the text, and none is longer than a browser likes', () => {
  const text = `${'x'.repeat(50_000)}\n${'line\n'.repeat(1000)}end`
  const chunks = chunksOf(text)
  const joined = chunks
    .map((chunk, index) => (index > 0 && !chunk.isContinued ? '\n' : '') + chunk.text)
    .join('')
  expect(joined).toBe(text)
  expect(Math.max(...chunks.map((chunk) => chunk.text.length))).toBeLessThanOrEqual(16_000)
})

it('no character is cut in two', () => {
  expect(chunksOf('😀'.repeat(20_000)).every(({ text }) => text.isWellFormed())).toBe(true)
})
