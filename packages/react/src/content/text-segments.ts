// How long texts are divided so that nothing in them can hide: long runs of blank lines and spaces are counted instead
// of drawn, as they could push the rest of the text out of sight; a text that takes many rows is folded; and what is
// drawn is divided into chunks that a browser can lay out quickly. No character that is not blank is ever left out.

/** This many blank lines separate paragraphs and are drawn. Longer runs are counted. */
const MAX_DRAWN_BLANK_LINES = 3

const BLANK_LINES = /(?:^|\n)(?:[ \t\r]*\n){4,}/g
/** Long runs of spaces inside a line, as its indentation, or at its end, where nobody sees them. */
const SPACES = /(?<=\S)[ \t]{16,}|^[ \t]{64,}|[ \t]{4,}$/gm

export type Segment = { text: string } | { blankLines: number }

/** Divides a text at long runs of blank lines. */
export function splitAtBlankLines(text: string): Segment[] {
  const segments: Segment[] = []
  let from = 0
  for (const { 0: run, index } of text.matchAll(BLANK_LINES)) {
    // The first line break of a run ends the line before it, except at the beginning of the text.
    const blankLines = run.split('\n').length - (index === 0 ? 1 : 2)
    if (index > from) segments.push({ text: text.slice(from, index) })
    segments.push({ blankLines })
    from = index + run.length
  }
  if (from < text.length || segments.length === 0) segments.push({ text: text.slice(from) })
  return segments
}

/** Groups a list with one item for each line, so that each long run of blank lines is one group. */
export function groupBlankLines<Line>(
  lines: readonly Line[],
  isBlank: (line: Line) => boolean,
  belongTogether: (one: Line, other: Line) => boolean = () => true,
): Line[][] {
  const groups: Line[][] = []
  let run: Line[] = []
  const closeRun = () => {
    if (run.length > MAX_DRAWN_BLANK_LINES) groups.push(run)
    else groups.push(...run.map((line) => [line]))
    run = []
  }
  for (const line of lines) {
    const continuesRun = isBlank(line)
    if (!continuesRun || (run.length > 0 && !belongTogether(run[0]!, line))) closeRun()
    if (continuesRun) run.push(line)
    else groups.push([line])
  }
  closeRun()
  return groups
}

/** A part of a text that is drawn as it is, or the label of a run of blanks. */
export type LabelledPart = { shown: string } | { blankLines: number } | { spaces: number }

/** Replaces long runs of blank lines and spaces by their number. */
export function labelBlankRuns(text: string): LabelledPart[] {
  return splitAtBlankLines(text).flatMap((segment, index, all): LabelledPart[] => {
    if ('text' in segment) return labelSpaces(segment.text)
    const isLast = index === all.length - 1
    return [
      { shown: index === 0 ? '' : '\n' },
      { blankLines: segment.blankLines },
      { shown: isLast ? '' : '\n' },
    ]
  })
}

function labelSpaces(text: string): LabelledPart[] {
  const parts: LabelledPart[] = []
  let from = 0
  for (const { 0: run, index } of text.matchAll(SPACES)) {
    parts.push({ shown: text.slice(from, index) }, { spaces: run.length })
    from = index + run.length
  }
  return [...parts, { shown: text.slice(from) }]
}

/** About as many characters as a line of a card has room for. A longer line takes several rows. */
const ROW_CHARACTERS = 100

export interface FoldedText {
  head: Segment[]
  /** Empty if the whole text is in the head. */
  tail: Segment[]
}

/** Divides a text that takes more than `foldFrom` rows on screen after its first `keep` rows. */
export function foldText(text: string, { foldFrom, keep }: { foldFrom: number; keep: number }): FoldedText {
  const segments = splitAtBlankLines(text)
  if (segments.reduce((sum, segment) => sum + countRows(segment), 0) <= foldFrom) {
    return { head: segments, tail: [] }
  }
  let left = keep
  for (const [index, segment] of segments.entries()) {
    const rows = countRows(segment)
    if (rows > left && 'text' in segment) {
      const end = endOfRows(segment.text, left)
      return {
        head: [...segments.slice(0, index), { text: segment.text.slice(0, end).replace(/\n$/, '') }],
        tail: [{ text: segment.text.slice(end) }, ...segments.slice(index + 1)],
      }
    }
    left -= rows
  }
  return { head: segments, tail: [] }
}

function countRows(segment: Segment): number {
  if (!('text' in segment)) return 1
  return segment.text.split('\n').reduce((sum, line) => sum + countRowsOfLine(line), 0)
}

function countRowsOfLine(line: string): number {
  return Math.max(1, Math.ceil(line.length / ROW_CHARACTERS))
}

/** Where the first rows end: after a line break, or inside of a first line that is longer than all of them. */
function endOfRows(text: string, rows: number): number {
  let end = 0
  let left = rows
  for (const line of text.split('\n')) {
    const needed = countRowsOfLine(line)
    if (needed > left) return end > 0 ? end : avoidSplittingPair(text, left * ROW_CHARACTERS)
    end += line.length + 1
    left -= needed
  }
  return Math.min(end, text.length)
}

export interface Chunk {
  text: string
  /** It begins in the middle of a line. */
  isContinued: boolean
}

const MAX_CHUNK_LINES = 200
const MAX_CHUNK_CHARACTERS = 16_000

/** Divides a text into chunks that a browser can lay out one at a time. Joined, they are the text. */
export function splitIntoChunks(text: string): Chunk[] {
  const chunks: Chunk[] = []
  let start = 0
  let isContinued = false
  while (start < text.length) {
    const end = endOfChunk(text, start)
    const endsLine = text[end - 1] === '\n'
    // A chunk is a block element, which breaks the line itself.
    chunks.push({ text: text.slice(start, endsLine && end < text.length ? end - 1 : end), isContinued })
    isContinued = !endsLine
    start = end
  }
  return chunks.length > 0 ? chunks : [{ text: '', isContinued: false }]
}

function endOfChunk(text: string, start: number): number {
  let end = start
  for (let lines = 0; lines < MAX_CHUNK_LINES && end < text.length; lines++) {
    const next = text.indexOf('\n', end)
    const lineEnd = next < 0 ? text.length : next + 1
    if (lineEnd - start > MAX_CHUNK_CHARACTERS) {
      return end > start ? end : avoidSplittingPair(text, Math.min(start + MAX_CHUNK_CHARACTERS, text.length))
    }
    end = lineEnd
  }
  return end
}

/** Moves a cut between the halves of a surrogate pair, which would break a character, to before the pair. */
function avoidSplittingPair(text: string, at: number): number {
  const unit = text.charCodeAt(at - 1)
  return unit >= 0xd800 && unit < 0xdc00 && at < text.length ? at - 1 : at
}
