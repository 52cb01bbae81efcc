import { ALWAYS_MISLEADING, lookAlikes, rangeOf, type TextRange } from './look-alikes.js'

/** A piece of a text: characters to show as they are, or one that is invisible or would be mistaken for another. */
export type TextPiece = { shown: string } | { hidden: string; name: string }

/**
 * How strict to be. `prose` leaves what ordinary writing needs: whole emoji, every script, the usual typographic spaces.
 * `code` is for commands, paths, hosts and tool inputs, where every character matters.
 */
export type Strictness = 'prose' | 'code'

// Patterns of characters that cannot be seen. They use Unicode properties, so that a character that is newer than this
// JavaScript engine counts as unassigned, and is spelled out.

/** A whole ANSI escape sequence, which is spelled out as one. */
const ANSI = String.raw`\u001b(?:\[[0-?]*[ -\/]*[@-~]|\][^\u0007\u001b]{0,200}(?:\u0007|\u001b\\)?)?`
const CONTROL = String.raw`[\p{Cc}--[\t\n\r]]|\r(?!\n)`
/** Assigned as letters or symbols, but drawn as nothing: Braille, Khitan, music, hieroglyphs, the object replacement. */
const BLANK = String.raw`\u2800\u{16fe4}\u{1d159}\u{13441}\u{13442}\ufffc`
/** Emoji are composed with these: joiner, variation selectors, tags. */
const IN_EMOJI = String.raw`\u200d\ufe0e\ufe0f\u{e0020}-\u{e007f}`
const IGNORABLE = String.raw`\p{Default_Ignorable_Code_Point}`
const INVISIBLE = String.raw`[[${IGNORABLE}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}${BLANK}]--[${IN_EMOJI}]]`

/** A mark without a base character, or the fifth mark on one, is drawn over something else. */
const BASE = String.raw`[[\p{L}\p{N}\p{P}\p{S}]--[${IGNORABLE}${BLANK}]]`
const LONE_MARK = String.raw`\p{M}(?<!${BASE}\p{M}{1,4})`
/** How a mark of another script is drawn on a Latin letter is not defined; it may not be drawn at all. */
const FOREIGN_MARK = String.raw`[\p{M}--\p{Script=Inherited}](?<=[\p{Script=Latin}\p{ASCII}]\p{M}{1,4})`

const PROSE_SPACE = String.raw`[\p{Zs}--[\u0020\u00a0\u202f\u3000]]`
const PICTURE = String.raw`\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?`
const JOINER = String.raw`\u200d(?:(?<!${PICTURE}\u200d)|(?!\p{Extended_Pictographic}))`
const SELECTOR = String.raw`[\ufe0e\ufe0f](?<!\p{Extended_Pictographic}[\ufe0e\ufe0f])(?!(?<=[0-9#*]\ufe0f)\u20e3)`
/** Only the flags of regions use tags: a black flag, up to six tag letters, the end tag. */
const FLAG_TAG = String.raw`(?<=\u{1f3f4}[\u{e0030}-\u{e007a}]{1,6})(?=[\u{e0030}-\u{e007a}]{0,5}\u{e007f})`
const FLAG_END = String.raw`(?<=\u{1f3f4}[\u{e0030}-\u{e007a}]{3,6}\u{e007f})`
const TAG = String.raw`[\u{e0020}-\u{e007f}](?!${FLAG_TAG}|${FLAG_END})`

// Patterns of characters that look like something else, for code only. `look-alikes.ts` handles those that depend on the
// characters around them.

const CODE_SPACE = String.raw`[\p{Zs}--[\u0020]]`
/** A letter and a combining mark look like the one precomposed letter, but make a different name. */
const COMBINED = String.raw`[\p{M}&&\p{Script=Inherited}]`
/** Dashes and quotes where an option or a quoted text would begin; elsewhere they are ordinary typography. */
const AT_START = String.raw`[–‘’‚“”„](?<=(?:^|[\s=\(\[\{]).)(?=\S)`

const ANYWHERE = [ANSI, CONTROL, INVISIBLE, LONE_MARK, FOREIGN_MARK]
const IN_PROSE = [PROSE_SPACE, JOINER, SELECTOR, TAG]
const IN_CODE = [CODE_SPACE, `[${IN_EMOJI}]`, COMBINED, `[${ALWAYS_MISLEADING}]`, AT_START]

const patterns: Record<Strictness, RegExp> = {
  prose: new RegExp([...ANYWHERE, ...IN_PROSE].join('|'), 'gv'),
  code: new RegExp([...ANYWHERE, ...IN_CODE].join('|'), 'gv'),
}

/** Most texts are plain ASCII, and need no search. */
const PLAIN = /^[\n\t -~]*$/

const names = new Map([
  ['\u001b', 'ESC'],
  ['\r', 'CR'],
  ['\0', 'NUL'],
  ['\u0007', 'BEL'],
  ['\b', 'BS'],
])

/**
 * Splits a text into pieces that together have all of its characters. Characters that could mislead are pieces of their own,
 * with a name to show instead: that of a control character, or the code point.
 *
 * @example
 * splitHiddenCharacters('rm\u202e x', 'code') // [{ shown: 'rm' }, { hidden: '\u202e', name: 'U+202E' }, { shown: ' x' }]
 */
export function splitHiddenCharacters(text: string, strictness: Strictness): TextPiece[] {
  if (PLAIN.test(text)) return [{ shown: text }]
  const pieces: TextPiece[] = []
  let at = 0
  for (const { start, end } of misleading(text, strictness)) {
    if (start > at) pieces.push({ shown: text.slice(at, start) })
    const hidden = text.slice(start, end)
    pieces.push({ hidden, name: Array.from(hidden, nameOf).join('') })
    at = end
  }
  if (at < text.length || pieces.length === 0) pieces.push({ shown: text.slice(at) })
  return pieces
}

/** Whether `splitHiddenCharacters` would find anything to spell out. */
export function hasHiddenCharacters(text: string, strictness: Strictness): boolean {
  return !PLAIN.test(text) && misleading(text, strictness).length > 0
}

/**
 * The text with every misleading character replaced by its name in brackets, for surfaces that cannot mark it otherwise.
 *
 * @example
 * spellOut('a\u200bb', 'prose') // 'a⟦U+200B⟧b'
 */
export function spellOut(text: string, strictness: Strictness): string {
  return splitHiddenCharacters(text, strictness)
    .map((piece) => ('shown' in piece ? piece.shown : `⟦${piece.name}⟧`))
    .join('')
}

/** `spellOut` on one line, for names and titles: a line break in one could imitate a part of our interface. */
export function spellOutLine(text: string, strictness: Strictness): string {
  return spellOut(text, strictness)
    .replaceAll(/\s*\n\s*/g, ' ⏎ ')
    .replaceAll('\t', ' ')
    .trim()
}

/** Where the misleading characters are, in order and without overlaps. */
function misleading(text: string, strictness: Strictness): TextRange[] {
  const found = Array.from(text.matchAll(patterns[strictness]), rangeOf)
  if (strictness === 'prose') return found
  let end = 0
  return [...found, ...lookAlikes(text)]
    .toSorted((a, b) => a.start - b.start || b.end - a.end)
    .filter((range) => {
      if (range.start < end) return false
      ;({ end } = range)
      return true
    })
}

function nameOf(character: string): string {
  const known = names.get(character)
  if (known !== undefined) return known
  if (/^[!-~ ]$/.test(character)) return character
  return `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
}
