import { foreignLetters, phoneticLetters, punctuation } from './confusables.js'

/** A part of a text, in UTF-16 units. */
export interface TextRange {
  start: number
  end: number
}

/** Characters that are marked anywhere in code. */
export const ALWAYS_MISLEADING = [...Object.values(punctuation), ...Object.values(phoneticLetters)].join('')

const word = /[\p{L}\p{N}\p{M}]+/gu
const host = /(?:\/\/|@)(?<name>[^\s/?#'"]+)/gu
const notAscii = /\P{ASCII}/gu
const latin = /\p{Script=Latin}/u
/** Scripts that are written together with Latin, and characters that belong to no script of their own. */
const mixable = ['Latin', 'Han', 'Hiragana', 'Katakana', 'Hangul', 'Bopomofo', 'Common', 'Inherited']
const foreign = new RegExp(
  `(?![${mixable.map((name) => `\\p{Script=${name}}`).join('')}])[\\p{L}\\p{M}\\p{Nd}]`,
  'gu',
)
const foreignDigit = /(?![0-9])\p{Nd}/gu
const alike = new RegExp(`[${Object.values(foreignLetters).join('')}]`, 'gu')
const onlyAlike = new RegExp(`^[\\p{N}${Object.values(foreignLetters).join('')}]+$`, 'u')
/** Separates the parts of a path, an option or a host. */
const separator = /[-./@~:\\]/
/** A stroke that looks like a slash, unless it stands beside characters of its own script. */
const stroke =
  /(?<![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー])[ノ丿](?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー])/gu
/** Compatibility characters; some of them normalize to ASCII. */
const compatible = /(?!\p{ASCII})\p{Changes_When_NFKC_Casefolded}/gu

/**
 * Finds the characters of a command, a path or a host that would be mistaken for others. It looks at whole words: a letter of
 * another script misleads only among Latin letters, or in a word that consists of look-alikes alone.
 */
export function lookAlikes(text: string): TextRange[] {
  const ranges: TextRange[] = []
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

export function rangeOf({ 0: match, index }: RegExpExecArray): TextRange {
  return { start: index, end: index + match.length }
}

/** Many languages have words of one letter. Beside a separator of a path, an option or a host it is no such word. */
function isWordOfOneLetter(text: string, index: number, letters: string): boolean {
  if (letters.length > 1) return false
  return !separator.test(text.charAt(index - 1)) && !separator.test(text.charAt(index + 1))
}

/** Characters on ordinary keyboards that nobody mistakes for the ASCII characters they normalize to. */
const DISTINCT = 'ª²³¹º…™'

function standsForAscii(character: string): boolean {
  return !DISTINCT.includes(character) && /^[!-~]+$/.test(character.normalize('NFKC'))
}
