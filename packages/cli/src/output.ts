import { piecesOf, spellOut } from '@askback/protocol/hidden-characters'

/** A line for a person. It may quote an agent, which must not reach the terminal as it is. */
export function say(text: string): void {
  process.stderr.write(`${spellOut(text, 'prose')}\n`)
}

/** One line of JSON. Characters that a terminal acts on, or hides, are escaped as JSON has it: the value is the same. */
export function printJson(value: unknown): void {
  process.stdout.write(`${jsonLine(value)}\n`)
}

/** For a program to read, character by character; a terminal gets it spelled out. */
export function printData(text: string): void {
  process.stdout.write(process.stdout.isTTY ? spellOut(text, 'prose') : text)
}

export function jsonLine(value: unknown): string {
  return escapeHidden(JSON.stringify(value))
}

/** For text that is JSON already. */
export function escapeHidden(json: string): string {
  return piecesOf(json, 'prose')
    .map((piece) => ('shown' in piece ? piece.shown : escaped(piece.hidden)))
    .join('')
}

function escaped(text: string): string {
  // By units, not by characters: that is how JSON escapes.
  return text
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}
