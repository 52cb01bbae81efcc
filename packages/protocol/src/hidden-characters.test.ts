import { describe, expect, it } from 'vitest'
import { piecesOf, type Strictness } from './hidden-characters.js'

function shown(text: string, strictness: Strictness = 'code'): string {
  return piecesOf(text, strictness)
    .map((piece) => ('shown' in piece ? piece.shown : `<${piece.name}>`))
    .join('')
}

describe('in code and prose alike', () => {
  it.each([
    ['a right-to-left override', 'a\u202eb', 'a<U+202E>b'],
    ['an isolate', 'a\u2066b\u2069', 'a<U+2066>b<U+2069>'],
    ['a zero-width space', 'a\u200bb', 'a<U+200B>b'],
    ['a byte order mark', '\ufeffa', '<U+FEFF>a'],
    ['a soft hyphen', 'a\u00adb', 'a<U+00AD>b'],
    ['an ANSI sequence, in one piece', '\u001b[31mred\u001b[0m', '<ESC[31m>red<ESC[0m>'],
    ['a bare escape', 'a\u001b', 'a<ESC>'],
    ['a title sequence', '\u001b]0;x\u0007', '<ESC]0;xBEL>'],
    ['a null and a backspace', '\0\b', '<NUL><BS>'],
    ['a C1 control', '\u009b', '<U+009B>'],
    ['letters of the tag block', 'a\u{e0041}', 'a<U+E0041>'],
    ['a line separator', 'a\u2028b', 'a<U+2028>b'],
  ])('%s is spelled out', (_name, text, expected) => {
    expect(shown(text)).toBe(expected)
    expect(shown(text, 'prose')).toBe(expected)
  })

  it('line breaks and tabs stay', () => {
    expect(shown('a\n\tb\r\n')).toBe('a\n\tb\r\n')
  })
})

describe('in prose', () => {
  it('emoji stay whole', () => {
    const family = '👩‍👩‍👧 👍🏽 ❤️ 🏴\u{e0067}\u{e0062}\u{e007f}'
    expect(shown(family, 'prose')).toBe(family)
  })

  it('a joiner that joins no emoji is spelled out', () => {
    expect(shown('a\u200db', 'prose')).toBe('a<U+200D>b')
  })

  it('every script stays as it is', () => {
    const texts = 'Привет, κόσμε, 你好, שלום, مرحبا, café'
    expect(shown(texts, 'prose')).toBe(texts)
  })
})

describe('in code', () => {
  it('a carriage return that would hide a line is spelled out', () => {
    expect(shown('rm -rf /\rls')).toBe('rm -rf /<CR>ls')
  })

  it('a space that is none is spelled out', () => {
    expect(shown('rm\u00a0-rf')).toBe('rm<U+00A0>-rf')
  })

  it('letters that look like Latin ones are spelled out inside a Latin word', () => {
    expect(shown('p\u0430ypal')).toBe('p<U+0430>ypal')
    expect(shown('\u0430pple')).toBe('<U+0430>pple')
  })

  it('every foreign letter of a host is spelled out', () => {
    expect(shown('curl https://\u0430\u0440\u0440.com/я')).toBe('curl https://<U+0430><U+0440><U+0440>.com/я')
  })

  it('words of other scripts stay', () => {
    expect(shown('echo Привет')).toBe('echo Привет')
  })
})

// Looked at once more from each of its characters, it would not end before the test does.
it('a megabyte on one line takes no noticeable time', () => {
  const pieces = piecesOf('é@b.com//x '.repeat(100_000), 'code')
  expect(pieces).not.toHaveLength(0)
})
