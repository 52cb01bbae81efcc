/**
 * Letters of other scripts that look like a Latin letter, in common fonts. A small part of Unicode's `confusables.txt`:
 * the scripts that people can type, where the whole file would be larger than the rest of this package.
 */
export const foreignLetters: Record<string, string> = {
  a: 'аАαΑᎪꓮⲀ',
  b: 'ВΒᏴꓐⲂЬᏏ',
  c: 'сСⅭϲϹᏟꓚⲥⲤ',
  d: 'ԁԀᎠᏧꓓ',
  e: 'еЕΕҽᎬꓰ',
  f: 'Ϝꓝ',
  g: 'ԌᏀꓖց',
  h: 'һНΗհᎻꓧⲎ',
  i: 'іІιΙᎥꓲⲒ',
  j: 'јЈϳᎫꓙ',
  k: 'КκΚᏦꓗⲔ',
  l: 'ӏӀᏞꓡⳐ',
  m: 'МΜᎷꓟⲘ',
  n: 'ΝոꓠⲚ',
  o: 'оОοΟօՕꓳⲟⲞ',
  p: 'рРρΡᏢꓑⲣⲢ',
  q: 'ԛԚզ',
  r: 'ᎡᏒꓣ',
  s: 'ѕЅՏᏚꓢ',
  t: 'ТΤᎢꓔⲦ',
  u: 'υսՍꓴ',
  v: 'νѵѴᏙꓦ',
  w: 'ԝԜᎳꓪ',
  x: 'хХχΧꓫⲭⲬ',
  y: 'уУүҮγΥᎩꓬⲨ',
  z: 'ΖᏃꓜⲌ',
}

/** Latin letters that look like another one, and belong to phonetic writing only. */
export const phoneticLetters: Record<string, string> = {
  a: 'ɑᴀ',
  c: 'ᴄ',
  e: 'ᴇ',
  g: 'ɡ',
  i: 'ɩɪ',
  j: 'ᴊ',
  k: 'ᴋ',
  m: 'ᴍ',
  o: 'ᴏ',
  p: 'ᴘƿ',
  s: 'ꜱ',
  t: 'ᴛ',
  u: 'ᴜ',
  v: 'ᴠʋ',
  w: 'ᴡ',
  z: 'ᴢ',
}

/** Punctuation that a shell, a path or a URL does not read as what it looks like. */
export const punctuation: Record<string, string> = {
  '-': '‐‑‒−˗⁃➖',
  '/': '∕⁄⧸╱⟋',
  '\\': '∖⧵⧹╲⟍',
  ':': '∶꞉ː˸։',
  ';': '⁏',
  '.': 'ꓸ܁܂',
  ',': 'ꓹ٫',
  '|': '∣ǀ❘',
  '*': '∗⁎٭',
  '~': '∼˜⁓',
  '!': 'ǃⵑ',
  '?': 'ʔɁ',
  '<': '˂',
  '>': '˃',
  '`': 'ˋ‵',
  "'": 'ʼʹ′ˈꞌ',
  '"': '″ˮ',
  '^': 'ˆ',
  '=': '꓿᐀',
}

/** Each of these reads as the letter behind it, in either case: `I` and `l`, and so `i` and `l`. */
const folded: Record<string, string> = { 0: 'o', 1: 'l', i: 'l', ı: 'l', '|': 'l', ȷ: 'j', ß: 'ss' }

const byCharacter = new Map(
  [foreignLetters, phoneticLetters, punctuation].flatMap((table) =>
    Object.entries(table).flatMap(([plain, others]) =>
      Array.from(others).flatMap((other): [string, string][] => [
        [other, plain],
        [other.toLowerCase(), plain],
      ]),
    ),
  ),
)

/**
 * What a name looks like: two names with the same skeleton can be taken for each other. It is for comparing only, and
 * errs on the side of a match: letters count as alike if they are so in either case.
 *
 * @example
 * skeleton('Рaypal') === skeleton('paypa1') // true: the first begins with a Cyrillic letter
 */
export function skeleton(name: string): string {
  const plain = name
    .normalize('NFKC')
    .replaceAll(/[\p{Default_Ignorable_Code_Point}\p{C}]/gu, '')
    .replaceAll(/[\p{Z}\s\u2800]+/gu, ' ')
    .trim()
    .toLowerCase()
  const letters = Array.from(plain, (character) => {
    const latin = byCharacter.get(character) ?? character
    return folded[latin] ?? latin
  })
  return letters.join('').replaceAll('rn', 'm').replaceAll('vv', 'w').normalize('NFC')
}
