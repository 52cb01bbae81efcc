import { keepLines } from './drawing.js'

/** A text in lines that are not broken again: between words, and within one that is too long. */
export function wrapText(text: string, columns: number): string[] {
  return keepLines(text)
    .split('\n')
    .flatMap((line) => wrapLine(line, Math.max(columns, 2)))
}

function wrapLine(line: string, columns: number): string[] {
  const lines: string[] = []
  let current = ''
  let width = 0
  for (const word of line.split(/(?<= )/)) {
    if (width > 0 && width + widthOf(word.trimEnd()) > columns) {
      lines.push(current)
      current = ''
      width = 0
    }
    for (const character of word) {
      const wide = widthOf(character)
      if (width + wide > columns) {
        lines.push(current)
        current = ''
        width = 0
      }
      current += character
      width += wide
    }
  }
  return [...lines, current]
}

/** At least as wide as a terminal draws it: a line that is too short does no harm. */
function widthOf(text: string): number {
  let width = 0
  for (const character of text) width += character.codePointAt(0)! >= 0x1100 ? 2 : 1
  return width
}
