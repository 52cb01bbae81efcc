import { describe, expect, it } from 'vitest'
import { spellOutLine, splitHiddenCharacters, type Strictness } from './hidden-characters.js'

function shown(text: string, strictness: Strictness = 'code'): string {
  return splitHiddenCharacters(text, strictness)
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

  it('keeps line breaks and tabs', () => {
    expect(shown('a\n\tb\r\n')).toBe('a\n\tb\r\n')
  })
})

describe('in prose', () => {
  it('keeps emoji whole', () => {
    const emoji = '👩‍👩‍👧 👍🏽 ❤️ 1️⃣ 👩‍❤️‍👩 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}'
    expect(shown(emoji, 'prose')).toBe(emoji)
  })

  it('spells out tags that make no flag: they could hide a text', () => {
    const tags = (text: string) =>
      Array.from(text, (each) => String.fromCodePoint(0xe0000 + each.codePointAt(0)!))
    const spelled = (text: string) =>
      tags(text).map((tag) => `<U+${tag.codePointAt(0)!.toString(16).toUpperCase()}>`)
    for (const text of ['hello world', 'gbeng', 'gb\u007f']) {
      expect(shown(`👍${tags(text).join('')}`, 'prose')).toBe(`👍${spelled(text).join('')}`)
    }
  })

  it('spells out a variation selector that selects nothing', () => {
    expect(shown('a\ufe0f 1\ufe0f \ufe01', 'prose')).toBe('a<U+FE0F> 1<U+FE0F> <U+FE01>')
  })

  it('keeps the spaces of ordinary typography and spells out other blanks', () => {
    expect(shown('Oui\u00a0? Non\u202f!\u3000ok', 'prose')).toBe('Oui\u00a0? Non\u202f!\u3000ok')
    expect(shown('a\u2003b\u2800c\u3164d', 'prose')).toBe('a<U+2003>b<U+2800>c<U+3164>d')
  })

  it('keeps up to four marks on a letter', () => {
    const marked = 'e\u0301 ใหม่ नमस्ते שָׁלוֹם'
    expect(shown(marked, 'prose')).toBe(marked)
    expect(shown(`e${'\u0301'.repeat(6)}`, 'prose')).toBe(`e${'\u0301'.repeat(4)}<U+0301><U+0301>`)
  })

  it('spells out a mark of another script on a Latin letter', () => {
    expect(shown('a\u0e49', 'prose')).toBe('a<U+0E49>')
  })

  it('spells out a joiner that joins no emoji', () => {
    expect(shown('a\u200db', 'prose')).toBe('a<U+200D>b')
  })

  it('keeps every script', () => {
    const texts = 'Привет, κόσμε, 你好, שלום, مرحبا, café'
    expect(shown(texts, 'prose')).toBe(texts)
  })
})

describe('in code', () => {
  it('spells out a carriage return that would hide a line', () => {
    expect(shown('rm -rf /\rls')).toBe('rm -rf /<CR>ls')
  })

  it('spells out a space that is not U+0020', () => {
    expect(shown('rm\u00a0-rf')).toBe('rm<U+00A0>-rf')
  })

  it('spells out letters that look like Latin ones inside a Latin word', () => {
    expect(shown('p\u0430ypal')).toBe('p<U+0430>ypal')
    expect(shown('\u0430pple')).toBe('<U+0430>pple')
  })

  it('spells out every letter of a host that is not ASCII', () => {
    expect(shown('curl https://\u0430\u0440\u0440.com/я')).toBe('curl https://<U+0430><U+0440><U+0440>.com/я')
  })

  it.each([
    'echo Привет, а у меня',
    'echo γειά σου',
    'echo 日本語abc。',
    'echo コピーノート',
    'cat /home/Документы/файл1.txt',
    'echo שלום ١٢٣',
    'echo "Loading… it’s 5 m² — café"',
  ])('ordinary words of any language stay: %s', (text) => {
    expect(shown(text)).toBe(text)
  })

  it.each([
    ['a word of look-alikes only', '\u0441\u043e\u0440\u0443 x', '<U+0441><U+043E><U+0440><U+0443> x'],
    ['one look-alike as an option', 'ls -\u0430', 'ls -<U+0430>'],
    ['one look-alike in a path', 'cat /\u0430/b', 'cat /<U+0430>/b'],
    ['a look-alike of any script in a Latin word', 'l\u0578ad', 'l<U+0578>ad'],
    ['full-width letters', '\uff52\uff4d -rf', '<U+FF52><U+FF4D> -rf'],
    ['a full-width slash', 'a\uff0fb', 'a<U+FF0F>b'],
    ['mathematical letters', '\u{1d42b}m', '<U+1D42B>m'],
    ['a division slash', 'etc\u2215passwd', 'etc<U+2215>passwd'],
    ['a dash where an option begins', 'rm \u2013rf a\u2013b', 'rm <U+2013>rf a\u2013b'],
    ['a minus sign', 'rm \u2212rf', 'rm <U+2212>rf'],
    ['a quotation mark that quotes nothing', 'echo \u2018a; b\u2019', 'echo <U+2018>a; b\u2019'],
    ['a Greek question mark', 'a\u037e b', 'a<U+037E> b'],
    ['a full stop of another script in a host', 'ssh a@b\u3002com', 'ssh a@b<U+3002>com'],
    ['a letter and its mark', 'cafe\u0301', 'cafe<U+0301>'],
    ['a digit of another script', '1\u09ea', '1<U+09EA>'],
    ['a selector, even of an emoji', 'echo ❤\ufe0f', 'echo ❤<U+FE0F>'],
    ['a private character', 'a\ue000', 'a<U+E000>'],
    ['a character that is not assigned', 'a\u{e0fff}', 'a<U+E0FFF>'],
    ['phonetic letters', 'lo\u0261', 'lo<U+0261>'],
    ['another r', '\uab47m -rf /', '<U+AB47>m -rf /'],
    ['a small capital', '\u0274pm', '<U+0274>pm'],
    ['a letter with a tilde through it', '\u1d74udo', '<U+1D74>udo'],
    ['a kana stroke for a slash', 'ls \u30ceetc', 'ls <U+30CE>etc'],
    ['a Hebrew mark for a colon', 'a\u05c3b', 'a<U+05C3>b'],
  ])('%s is spelled out', (_name, text, expected) => {
    expect(shown(text)).toBe(expected)
  })
})

it('writes a name or a title on one line', () => {
  expect(spellOutLine('Bash\n── Approve?\r\n\tls\u001b[2J', 'code')).toBe('Bash ⏎ ── Approve? ⏎ ls⟦ESC[2J⟧')
})

// A search that starts again at each character takes quadratic time, and would not end before the test does.
it('searches a megabyte on one line in no noticeable time', () => {
  const pieces = splitHiddenCharacters('é@b.com//x '.repeat(100_000), 'code')
  expect(pieces).not.toHaveLength(0)
  for (const character of ['а', 'я', '\u0301', '\u{e0061}', '１', '–'])
    expect(splitHiddenCharacters(character.repeat(300_000), 'code')).not.toHaveLength(0)
})
