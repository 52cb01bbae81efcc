/** A piece of a text: as it is, or a character that would not be seen, or seen as another. */
export type Piece = { shown: string } | { hidden: string; name: string }

/** How strictly: in code every character matters; prose has emoji and spaces that do not break. */
export type Strictness = 'prose' | 'code'

// Control characters (line breaks and tabs aside), ANSI sequences as one, and format characters: bidi, zero width, tags.
const ANSI = '\\u001b(?:\\[[0-?]*[ -\\/]*[@-~]|\\][^\\u0007\\u001b]{0,200}(?:\\u0007|\\u001b\\\\)?)?'
const ALWAYS =
  '[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u00ad\\u115f\\u1160\\u2028\\u2029\\u3164\\uffa0\\ufff9-\\ufffb]|[\\p{Cf}--[\\u200d\\u{e0020}-\\u{e007f}]]|[\\u{e0100}-\\u{e01ef}]'
const JOINER =
  '(?<!\\p{Extended_Pictographic}\\ufe0f?\\p{Emoji_Modifier}?)\\u200d|\\u200d(?!\\p{Extended_Pictographic})'
const TAGS = '(?<!\\p{Extended_Pictographic}[\\u{e0020}-\\u{e007f}]*)[\\u{e0020}-\\u{e007f}]'
const CODE = '\\r(?!\\n)|\\u200d|[\\u{e0020}-\\u{e007f}\\ufe00-\\ufe0f]|[\\p{Zs}--[\\u0020]]'
/** A letter of another script inside a Latin word, and any foreign letter in the name of a host. */
const LOOKALIKE =
  '(?<=\\p{Script=Latin}[\\p{L}\\p{N}]{0,40})[\\p{L}&&[\\p{Script=Cyrillic}\\p{Script=Greek}\\p{Script=Armenian}\\p{Script=Cherokee}]]|[\\p{L}&&[\\p{Script=Cyrillic}\\p{Script=Greek}\\p{Script=Armenian}\\p{Script=Cherokee}]](?=[\\p{L}\\p{N}]{0,40}\\p{Script=Latin})|(?<=(?://|@)[^\\s\\/?#\'"]{0,200})[\\p{L}--[a-zA-Z]]'

const patterns: Record<Strictness, RegExp> = {
  prose: new RegExp(`${ANSI}|${ALWAYS}|${JOINER}|${TAGS}`, 'gv'),
  code: new RegExp(`${ANSI}|${ALWAYS}|${CODE}|${LOOKALIKE}`, 'gv'),
}

const names = new Map([
  ['\u001b', 'ESC'],
  ['\r', 'CR'],
  ['\0', 'NUL'],
  ['\u0007', 'BEL'],
  ['\b', 'BS'],
])

/** Nothing is left out: the pieces have every character of the text, and what could mislead is named by its number. */
export function piecesOf(text: string, strictness: Strictness): Piece[] {
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
