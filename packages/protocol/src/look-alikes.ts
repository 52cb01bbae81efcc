import { foreignLetters, phoneticLetters, punctuation } from './confusables.js'

/** Part of a text, in UTF-16 units. */
export interface Range {
  start: number
  end: number
}

/** Marked wherever they stand in code. */
export const alwaysAlike = [...Object.values(punctuation), ...Object.values(phoneticLetters)].join('')

const word = /[\p{L}\p{N}\p{M}]+/gu
const host = /(?:\/\/|@)(?<name>[^\s/?#'"]+)/gu
const notAscii = /\P{ASCII}/gu
const latin = /\p{Script=Latin}/u
/** Scripts that are written together with Latin, or are no script of their own. */
const mixable = ['Latin', 'Han', 'Hiragana', 'Katakana', 'Hangul', 'Bopomofo', 'Common', 'Inherited']
const foreign = new RegExp(
  `(?![${mixable.map((name) => `\\p{Script=${name}}`).join('')}])[\\p{L}\\p{M}\\p{Nd}]`,
  'gu',
)
const foreignDigit = /(?![0-9])\p{Nd}/gu
const alike = new RegExp(`[${Object.values(foreignLetters).join('')}]`, 'gu')
const onlyAlike = new RegExp(`^[\\p{N}${Object.values(foreignLetters).join('')}]+$`, 'u')
/** Between the parts of a path, an option or a host. */
const separator = /[-./@~:\\]/
/** A stroke for a slash, unless it stands among characters of its own writing. */
const stroke =
  /(?<![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー])[ノ丿](?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー])/gu
/** These may stand for ASCII characters. */
const compatible = /(?!\p{ASCII})\p{Changes_When_NFKC_Casefolded}/gu

/**
 * Characters of a command, a path or a host that would be taken for others. It looks at whole words, since a letter of
 * another script misleads among Latin letters only, or in a word that has nothing but look-alikes.
 */
export function lookAlikes(text: string): Range[] {
  const ranges: Range[] = []
  const mark = (within: string, pattern: RegExp, at: number) => {
    for (const match of within.matchAll(pattern)) {
      const { start, end } = rangeOf(match)
      ranges.push({ start: at + start, end: at + end })
    }
  }
  for (const { 0: letters, index } of text.matchAll(word)) {
    if (/^\p{ASCII}*$/u.test(letters)) continue
    if (latin.test(letters)) mark(letters, foreign, index)
    if (/[0-9]/.test(letters)) mark(letters, foreignDigit, index)
    if (onlyAlike.test(letters) && !isWordOfOneLetter(text, index, letters)) mark(letters, alike, index)
  }
  for (const { 0: match, index, groups } of text.matchAll(host)) {
    const name = groups!['name']!
    mark(name, notAscii, index + match.length - name.length)
  }
  mark(text, stroke, 0)
  for (const match of text.matchAll(compatible)) {
    if (standsForAscii(match[0])) ranges.push(rangeOf(match))
  }
  return ranges
}

export function rangeOf({ 0: match, index }: RegExpExecArray): Range {
  return { start: index, end: index + match.length }
}

/** Many languages have such words; in a path, an option or a host it is none. */
function isWordOfOneLetter(text: string, index: number, letters: string): boolean {
  if (letters.length > 1) return false
  return !separator.test(text.charAt(index - 1)) && !separator.test(text.charAt(index + 1))
}

/** On the keys of ordinary keyboards, and not to be taken for the characters that they stand for. */
const DISTINCT = 'ª²³¹º…™'

function standsForAscii(character: string): boolean {
  return !DISTINCT.includes(character) && /^[!-~]+$/.test(character.normalize('NFKC'))
}
