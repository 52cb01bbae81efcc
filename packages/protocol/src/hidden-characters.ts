import { alwaysAlike, lookAlikes, rangeOf, type Range } from './look-alikes.js'

/** A piece of a text: as it is, or a character that would not be seen, or would be taken for another. */
export type Piece = { shown: string } | { hidden: string; name: string }

/**
 * How strictly. `prose` keeps what ordinary writing needs: whole emoji, every script, the usual typographic spaces.
 * `code` is for commands, paths, hosts and input, where every character matters.
 */
export type Strictness = 'prose' | 'code'

// What cannot be seen. Written with Unicode's own properties, so that a character that this engine does not know yet counts
// as unassigned, and is spelled out.

/** An ANSI sequence is spelled out as one. */
const ANSI = String.raw`\u001b(?:\[[0-?]*[ -\/]*[@-~]|\][^\u0007\u001b]{0,200}(?:\u0007|\u001b\\)?)?`
const CONTROL = String.raw`[\p{Cc}--[\t\n\r]]|\r(?!\n)`
/** Assigned as letters or symbols, and drawn as nothing: Braille, Khitan, music, hieroglyphs, an object's place. */
const BLANK = String.raw`\u2800\u{16fe4}\u{1d159}\u{13441}\u{13442}\ufffc`
/** Emoji are made of these too: joiner, variation selectors, tags. */
const IN_EMOJI = String.raw`\u200d\ufe0e\ufe0f\u{e0020}-\u{e007f}`
const IGNORABLE = String.raw`\p{Default_Ignorable_Code_Point}`
const INVISIBLE = String.raw`[[${IGNORABLE}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}${BLANK}]--[${IN_EMOJI}]]`

/** Without a character to stand on, or as the fifth of a pile, a mark is drawn over something else. */
const BASE = String.raw`[[\p{L}\p{N}\p{P}\p{S}]--[${IGNORABLE}${BLANK}]]`
const LONE_MARK = String.raw`\p{M}(?<!${BASE}\p{M}{1,4})`
/** A mark of another script on a Latin letter is drawn in no defined way, or not at all. */
const FOREIGN_MARK = String.raw`[\p{M}--\p{Script=Inherited}](?<=[\p{Script=Latin}\p{ASCII}]\p{M}{1,4})`

const PROSE_SPACE = String.raw`[\p{Zs}--[\u0020\u00a0\u202f\u3000]]`
const PICTURE = String.raw`\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?`
const JOINER = String.raw`\u200d(?:(?<!${PICTURE}\u200d)|(?!\p{Extended_Pictographic}))`
const SELECTOR = String.raw`[\ufe0e\ufe0f](?<!\p{Extended_Pictographic}[\ufe0e\ufe0f])(?!(?<=[0-9#*]\ufe0f)\u20e3)`
/** Only flags of regions have tags: a black flag, up to six letters, the end. */
const FLAG_TAG = String.raw`(?<=\u{1f3f4}[\u{e0030}-\u{e007a}]{1,6})(?=[\u{e0030}-\u{e007a}]{0,5}\u{e007f})`
const FLAG_END = String.raw`(?<=\u{1f3f4}[\u{e0030}-\u{e007a}]{3,6}\u{e007f})`
const TAG = String.raw`[\u{e0020}-\u{e007f}](?!${FLAG_TAG}|${FLAG_END})`

// What looks like something else, in code only: `look-alikes.ts` has those that need more than the character itself.

const CODE_SPACE = String.raw`[\p{Zs}--[\u0020]]`
/** A letter with a mark of its own looks like the letter that has one, and is another name. */
const COMBINED = String.raw`[\p{M}&&\p{Script=Inherited}]`
/** Where an option or a quoted text would begin; elsewhere they are ordinary typography. */
const AT_START = String.raw`[–‘’‚“”„](?<=(?:^|[\s=\(\[\{]).)(?=\S)`

const ANYWHERE = [ANSI, CONTROL, INVISIBLE, LONE_MARK, FOREIGN_MARK]
const IN_PROSE = [PROSE_SPACE, JOINER, SELECTOR, TAG]
const IN_CODE = [CODE_SPACE, `[${IN_EMOJI}]`, COMBINED, `[${alwaysAlike}]`, AT_START]

const patterns: Record<Strictness, RegExp> = {
  prose: new RegExp([...ANYWHERE, ...IN_PROSE].join('|'), 'gv'),
  code: new RegExp([...ANYWHERE, ...IN_CODE].join('|'), 'gv'),
}

/** Most of what is shown: there is nothing to look for. */
const PLAIN = /^[\n\t -~]*$/

const names = new Map([
  ['\u001b', 'ESC'],
  ['\r', 'CR'],
  ['\0', 'NUL'],
  ['\u0007', 'BEL'],
  ['\b', 'BS'],
])

/**
 * The text in pieces that have every one of its characters. Those that could mislead are apart, each named by its code point;
 * every other character can be seen.
 */
export function piecesOf(text: string, strictness: Strictness): Piece[] {
  if (PLAIN.test(text)) return [{ shown: text }]
  const pieces: Piece[] = []
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

export function hidesSomething(text: string, strictness: Strictness): boolean {
  return !PLAIN.test(text) && misleading(text, strictness).length > 0
}

/** The same as one text, for surfaces that have no other way to set a character apart. */
export function spellOut(text: string, strictness: Strictness): string {
  return piecesOf(text, strictness)
    .map((piece) => ('shown' in piece ? piece.shown : `⟦${piece.name}⟧`))
    .join('')
}

/** Spelled out, and on one line: for names and titles, where a line break could draw something of ours. */
export function spellOutLine(text: string, strictness: Strictness): string {
  return spellOut(text, strictness)
    .replaceAll(/\s*\n\s*/g, ' ⏎ ')
    .replaceAll('\t', ' ')
    .trim()
}

/** Where they stand, in order; what one of them covers is not named twice. */
function misleading(text: string, strictness: Strictness): Range[] {
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
