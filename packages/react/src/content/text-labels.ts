// Short labels about amounts and long texts.

const wholeNumber = new Intl.NumberFormat('en')
const oneDecimal = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const encoder = new TextEncoder()

/** "5,000". */
export function formatNumber(amount: number): string {
  return wholeNumber.format(amount)
}

/** "1 line", "5,000 lines". */
export function formatCount(amount: number, one: string, many = `${one}s`): string {
  return `${formatNumber(amount)} ${amount === 1 ? one : many}`
}

/** The number of lines and the size in UTF-8: "412 lines · 9.8 kB". */
export function formatSize(text: string): string {
  return `${formatCount(countLines(text), 'line')} · ${formatBytes(encoder.encode(text).length)}`
}

/** The number of lines; of a single line, the number of characters. */
export function formatLength(text: string): string {
  const lines = countLines(text)
  return lines > 1 ? formatCount(lines, 'line') : formatCount(text.length, 'character')
}

export function formatBlankLines(blankLines: number): string {
  return formatCount(blankLines, 'blank line')
}

function formatBytes(bytes: number): string {
  if (bytes < 1000) return formatCount(bytes, 'byte')
  return bytes < 1_000_000
    ? `${oneDecimal.format(bytes / 1000)} kB`
    : `${oneDecimal.format(bytes / 1_000_000)} MB`
}

/** A line break at the end belongs to the last line, and does not start another. */
function countLines(text: string): number {
  return text === '' ? 0 : text.replace(/\n$/, '').split('\n').length
}

const MAX_LINE_CHARACTERS = 160

/** The first line of a text, shortened to what fits on one line of the page. */
export function firstLine(text: string): string {
  const end = text.indexOf('\n')
  const line = end < 0 ? text : `${text.slice(0, end)} …`
  return line.length > MAX_LINE_CHARACTERS ? `${line.slice(0, MAX_LINE_CHARACTERS)}…` : line
}
