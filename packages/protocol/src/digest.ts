import { sha256 } from '@noble/hashes/sha2.js'
import { canonicalJson, type Json } from './json.js'

const encoder = new TextEncoder()
const DIGITS = Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0))

export function sha256Hex(text: string): string {
  const codes: number[] = []
  for (const byte of sha256(encoder.encode(text))) codes.push(DIGITS[byte >> 4]!, DIGITS[byte & 15]!)
  // At once: a text that is put together byte by byte keeps a node for each in memory.
  return String.fromCharCode(...codes)
}

/** L12: what a person approves is bound to these bytes. */
export function digestOf(toolName: string, input: Json, sha256?: (text: string) => string): string {
  return digestOfCanonical(toolName, canonicalJson(input), sha256)
}

/** The same for an input that is canonical JSON already. */
export function digestOfCanonical(
  toolName: string,
  input: string,
  sha256: (text: string) => string = sha256Hex,
): string {
  return sha256(`{"input":${input},"toolName":${JSON.stringify(toolName)}}`)
}
