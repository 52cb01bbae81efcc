import { splitAtBlankLines, type Segment } from './blank-runs.js'

/** About as many characters as a line of a card has room for: a longer one takes several rows. */
const ROW_CHARACTERS = 100

export interface FoldedText {
  head: Segment[]
  /** Empty where all of it is in the head. */
  tail: Segment[]
}

/** Divides a text that takes more than `foldFrom` rows on screen after its first `keep` rows. */
export function foldText(text: string, { foldFrom, keep }: { foldFrom: number; keep: number }): FoldedText {
  const segments = splitAtBlankLines(text)
  if (segments.reduce((sum, segment) => sum + rowsIn(segment), 0) <= foldFrom) {
    return { head: segments, tail: [] }
  }
  let left = keep
  for (const [index, segment] of segments.entries()) {
    const rows = rowsIn(segment)
    if (rows > left && 'text' in segment) {
      const cut = cutAfter(segment.text, left)
      return {
        head: [...segments.slice(0, index), { text: segment.text.slice(0, cut).replace(/\n$/, '') }],
        tail: [{ text: segment.text.slice(cut) }, ...segments.slice(index + 1)],
      }
    }
    left -= rows
  }
  return { head: segments, tail: [] }
}

function rowsIn(segment: Segment): number {
  return 'text' in segment ? segment.text.split('\n').reduce((sum, line) => sum + rowsOfLine(line), 0) : 1
}

function rowsOfLine(line: string): number {
  return Math.max(1, Math.ceil(line.length / ROW_CHARACTERS))
}

/** Where the first rows end: after a line break, or inside a line that is longer than all of them. */
function cutAfter(text: string, rows: number): number {
  let at = 0
  let left = rows
  for (const line of text.split('\n')) {
    const needed = rowsOfLine(line)
    if (needed > left) return at > 0 ? at : cutInside(text, left * ROW_CHARACTERS)
    at += line.length + 1
    left -= needed
  }
  return Math.min(at, text.length)
}

/** Not between the halves of a surrogate pair. */
function cutInside(text: string, at: number): number {
  const unit = text.charCodeAt(at - 1)
  return unit >= 0xd800 && unit < 0xdc00 ? at - 1 : at
}
