const LONGEST = 160

/** As much of a text as a line has room for. */
export function firstLine(text: string): string {
  const end = text.indexOf('\n')
  const line = end < 0 ? text : `${text.slice(0, end)} …`
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line
}
