/**
 * Tables of characters that look like others, and the comparison of names by their looks. Each key is an ASCII character, its
 * value the characters that look like it.
 */

/**
 * Letters of other scripts that look like a Latin letter in common fonts. It is a small part of Unicode's
 * `confusables.txt`: the scripts that people can type. The whole file would be larger than the rest of this package.
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

/** Latin letters that look like another one and occur in phonetic writing only. */
export const phoneticLetters: Record<string, string> = {
  a: 'ɑᴀ',
  b: 'ʙᵬƅƄ',
  c: 'ᴄ',
  d: 'ᴅᵭ',
  e: 'ᴇꬲ',
  f: 'ꜰᵮ',
  g: 'ɡɢ',
  h: 'ʜ',
  i: 'ɩɪ',
  j: 'ᴊ',
  k: 'ᴋ',
  l: 'ʟꞁ',
  m: 'ᴍᵯ',
  n: 'ɴᵰ',
  o: 'ᴏ',
  p: 'ᴘƿᵱ',
  r: 'ʀꭇꭈɼɾᵲᵳ',
  s: 'ꜱᵴ',
  t: 'ᴛᵵ',
  u: 'ᴜ',
  v: 'ᴠʋ',
  w: 'ᴡɯ',
  y: 'ʏ',
  z: 'ᴢᵶ',
}

/** Letters and digits that count as the same in names. They are too common in texts to be marked there. */
const alikeInNames: Record<string, string> = {
  b: 'ɓƃბ',
  n: 'пռ',
  o: 'סဝഠ𐐬٥۵',
  r: 'г',
  w: 'աѡ',
}

/** Punctuation that a shell, a path or a URL does not treat as the ASCII character it looks like. */
export const punctuation: Record<string, string> = {
  '-': '‐‑‒−˗⁃➖',
  '/': '∕⁄⧸╱⟋〳⼃᜵',
  '\\': '∖⧵⧹╲⟍',
  ':': '∶꞉ː˸։׃',
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

/** Each of these looks like the letter beside it in at least one case: `I` like `l`, so `i` counts as `l`. */
const folded: Record<string, string> = { 0: 'o', 1: 'l', i: 'l', ı: 'l', '|': 'l', ȷ: 'j', ß: 'ss' }

const byCharacter = new Map(
  [foreignLetters, phoneticLetters, alikeInNames, punctuation].flatMap((table) =>
    Object.entries(table).flatMap(([plain, others]) =>
      Array.from(others).flatMap((other): [string, string][] => [
        [other, plain],
        [other.toLowerCase(), plain],
      ]),
    ),
  ),
)

/**
 * What a name looks like: two names with the same skeleton can be mistaken for each other. It is for comparing only. In doubt
 * it says that two names are alike: letters count as the same if they look the same in upper or lower case.
 *
 * @example
 * skeleton('Рaypal') === skeleton('paypa1') // true: the first begins with a Cyrillic letter
 */
export function skeleton(name: string): string {
  const visible = name
    .normalize('NFKC')
    .replaceAll(/[\p{Default_Ignorable_Code_Point}\p{C}]/gu, '')
    .toLowerCase()
  const characters = Array.from(visible.normalize('NFD').replaceAll(MARKS, ''), (character) => {
    const plain = byCharacter.get(character) ?? digitOf(character) ?? character
    return folded[plain] ?? plain
  })
  const text = characters.join('')
  // A name that consists of punctuation only still needs a skeleton that differs from that of others.
  const compared = text.replaceAll(/[\p{P}\p{S}\p{Z}\s\u2800]+/gu, '') || text.trim()
  return compared.replaceAll('rn', 'm').replaceAll('vv', 'w').normalize('NFC')
}

/** Marks that any letter can carry. Vowel signs and the Japanese voicing marks make a different letter, so they stay. */
const MARKS = /(?![\u3099\u309a])[\p{Script=Inherited}\p{Me}\u0483-\u0487]/gu

/** The value of a digit of any script: Unicode assigns the digits 0 to 9 of a script in one run of ten. */
function digitOf(character: string): string | undefined {
  if (!DIGIT.test(character)) return undefined
  const code = character.codePointAt(0)!
  let first = code
  while (first > 0 && DIGIT.test(String.fromCodePoint(first - 1))) first--
  return String((code - first) % 10)
}

const DIGIT = /^\p{Nd}$/u
