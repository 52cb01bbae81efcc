import { count } from './amounts.js'

/** So many blank lines, or fewer, separate paragraphs; more of them push what follows out of sight. */
const FEW_BLANK_LINES = 3

const BLANK_LINES = /(?:^|\n)(?:[ \t\r]*\n){4,}/g
/** Inside a line, as its indentation, and at its end, where nobody sees them. */
const SPACES = /(?<=\S)[ \t]{16,}|^[ \t]{64,}|[ \t]{4,}$/gm

export type Segment = { text: string } | { blankLines: number }

/** Divides a text at long runs of blank lines, which are counted instead of drawn. */
export function splitAtBlankLines(text: string): Segment[] {
  const segments: Segment[] = []
  let from = 0
  for (const { 0: run, index } of text.matchAll(BLANK_LINES)) {
    // The first line break ends the line before, except at the very beginning.
    const blankLines = run.split('\n').length - (index === 0 ? 1 : 2)
    if (index > from) segments.push({ text: text.slice(from, index) })
    segments.push({ blankLines })
    from = index + run.length
  }
  if (from < text.length || segments.length === 0) segments.push({ text: text.slice(from) })
  return segments
}

export function blankLinesLabel(blankLines: number): string {
  return count(blankLines, 'blank line')
}

/** Groups the items of a list, one for each line, so that each long run of blank lines is one group. */
export function groupBlankLines<Line>(
  lines: readonly Line[],
  isBlank: (line: Line) => boolean,
  belongTogether: (one: Line, other: Line) => boolean = () => true,
): Line[][] {
  const groups: Line[][] = []
  let run: Line[] = []
  const close = () => {
    if (run.length > FEW_BLANK_LINES) groups.push(run)
    else groups.push(...run.map((line) => [line]))
    run = []
  }
  for (const line of lines) {
    const isRun = isBlank(line)
    if (!isRun || (run.length > 0 && !belongTogether(run[0]!, line))) close()
    if (isRun) run.push(line)
    else groups.push([line])
  }
  close()
  return groups
}

export type Piece = { shown: string } | { label: string }

/** A text with long runs of blank lines and spaces counted: they could push the rest of it out of sight. */
export function countBlanks(text: string): Piece[] {
  return splitAtBlankLines(text).flatMap((segment, index, all): Piece[] => {
    if ('text' in segment) return countSpaces(segment.text)
    const isLast = index === all.length - 1
    return [
      { shown: index === 0 ? '' : '\n' },
      { label: blankLinesLabel(segment.blankLines) },
      { shown: isLast ? '' : '\n' },
    ]
  })
}

function countSpaces(text: string): Piece[] {
  const pieces: Piece[] = []
  let from = 0
  for (const { 0: run, index } of text.matchAll(SPACES)) {
    pieces.push({ shown: text.slice(from, index) }, { label: count(run.length, 'space') })
    from = index + run.length
  }
  return [...pieces, { shown: text.slice(from) }]
}
