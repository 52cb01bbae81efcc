/** A piece of a text: as it is, or a character that would not be seen, or seen as another. */
export type Piece = { shown: string } | { hidden: string; name: string }

/** How strictly: in code every character matters; prose has emoji and spaces that do not break. */
export type Strictness = 'prose' | 'code'

// Control characters (line breaks and tabs aside), ANSI sequences as one, and format characters: bidi, zero width, tags.
// Each pattern looks at the character first and around it after that, which is what makes them fast.
const ANSI = String.raw`\u001b(?:\[[0-?]*[ -\/]*[@-~]|\][^\u0007\u001b]{0,200}(?:\u0007|\u001b\\)?)?`
const CONTROL = String.raw`[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029]`
const FORMAT = String.raw`[\p{Cf}--[\u200d\u{e0020}-\u{e007f}]]|[\u115f\u1160\u3164\uffa0\u{e0100}-\u{e01ef}]`
/** Emoji are made of these too. */
const JOINER = String.raw`\u200d(?:(?<!\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?\u200d)|(?!\p{Extended_Pictographic}))`
const TAG = String.raw`[\u{e0020}-\u{e007f}](?<!\p{Extended_Pictographic}[\u{e0020}-\u{e007f}]{1,40})`
const IN_CODE = String.raw`\r(?!\n)|[\u200d\u{e0020}-\u{e007f}\ufe00-\ufe0f]|[\p{Zs}--[\u0020]]`
/** A letter of another script inside a Latin word, and any foreign letter in the name of a host. */
const OTHER = String.raw`[\p{L}&&[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]]`
const NEAR_LATIN = String.raw`${OTHER}(?:(?<=\p{Script=Latin}[\p{L}\p{N}]{1,40})|(?=[\p{L}\p{N}]{0,40}\p{Script=Latin}))`
const IN_HOST = String.raw`[\p{L}--[a-zA-Z]](?<=(?:\/\/|@)[^\s\/?#'"]{1,200})`

const patterns: Record<Strictness, RegExp> = {
  prose: new RegExp([ANSI, CONTROL, FORMAT, JOINER, TAG].join('|'), 'gv'),
  code: new RegExp([ANSI, CONTROL, FORMAT, IN_CODE, NEAR_LATIN, IN_HOST].join('|'), 'gv'),
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

/** Nothing is left out: the pieces have every character of the text, and what could mislead is named by its number. */
export function piecesOf(text: string, strictness: Strictness): Piece[] {
  if (PLAIN.test(text)) return [{ shown: text }]
  const pieces: Piece[] = []
  let at = 0
  for (const match of text.matchAll(patterns[strictness])) {
    if (match.index > at) pieces.push({ shown: text.slice(at, match.index) })
    pieces.push({ hidden: match[0], name: Array.from(match[0], nameOf).join('') })
    at = match.index + match[0].length
  }
  if (at < text.length || pieces.length === 0) pieces.push({ shown: text.slice(at) })
  return pieces
}

export function hidesSomething(text: string, strictness: Strictness): boolean {
  return text.search(patterns[strictness]) >= 0
}

function nameOf(character: string): string {
  const known = names.get(character)
  if (known !== undefined) return known
  if (/^[!-~ ]$/.test(character)) return character
  return `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
}

/** The same as one text, for surfaces that have no other way to set a character apart. */
export function spellOut(text: string, strictness: Strictness): string {
  return piecesOf(text, strictness)
    .map((piece) => ('shown' in piece ? piece.shown : `⟦${piece.name}⟧`))
    .join('')
}
