// Short labels about amounts and long texts.

import type { Label, Translate } from '../labels.js'

const wholeNumber = new Intl.NumberFormat('en')
const oneDecimal = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const encoder = new TextEncoder()

/** "5,000". */
export function formatNumber(amount: number): string {
  return wholeNumber.format(amount)
}

/** The label for one, or that for any other number. */
export function formatCount(t: Translate, amount: number, one: Label, many: Label): string {
  return t(amount === 1 ? one : many, { count: formatNumber(amount) })
}

/** "1 line", "5,000 lines". */
export function formatLines(t: Translate, lines: number): string {
  return formatCount(t, lines, '{count} line', '{count} lines')
}

/** The number of lines and the size in UTF-8: "412 lines · 9.8 kB". */
export function formatSize(t: Translate, text: string): string {
  return `${formatLines(t, countLines(text))} · ${formatBytes(t, encoder.encode(text).length)}`
}

/** The number of lines; of a single line, the number of characters. */
export function formatLength(t: Translate, text: string): string {
  const lines = countLines(text)
  return lines > 1
    ? formatLines(t, lines)
    : formatCount(t, text.length, '{count} character', '{count} characters')
}

export function formatBlankLines(t: Translate, blankLines: number): string {
  return formatCount(t, blankLines, '{count} blank line', '{count} blank lines')
}

function formatBytes(t: Translate, bytes: number): string {
  if (bytes < 1000) return formatCount(t, bytes, '{count} byte', '{count} bytes')
  return bytes < 1_000_000
    ? t('{size} kB', { size: oneDecimal.format(bytes / 1000) })
    : t('{size} MB', { size: oneDecimal.format(bytes / 1_000_000) })
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
