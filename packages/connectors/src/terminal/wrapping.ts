/** A text in lines that are not broken again: between words, and within one that is too long. */
export function wrapText(text: string, columns: number): string[] {
  return linesOf(text).flatMap((line) => wrapLine(line, Math.max(columns, 2)))
}

/**
 * The same with a mark before each line. A line that the terminal breaks by itself goes on at its left edge, where only
 * lines of ours begin: with a mark of its own on each row, nothing that an agent writes can get there.
 */
export function markLines(text: string, columns: number, [first, rest]: [string, string]): string[] {
  const room = columns - Math.max(first.length, rest.length)
  return wrapText(text, room).map((line, index) => `${index === 0 ? first : rest}${line}`)
}

/** As a terminal would show them: a tab has a fixed width here, so that lines can be measured. */
export function linesOf(text: string): string[] {
  return text.replaceAll('\r\n', '\n').replaceAll('\r', '⟦CR⟧').replaceAll('\t', '    ').split('\n')
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
