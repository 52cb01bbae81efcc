import { sha256 } from '@noble/hashes/sha2.js'
import { canonicalJson, type Json } from './json.js'

const encoder = new TextEncoder()
const DIGITS = Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0))
const native = nativeHash()

export function sha256Hex(text: string): string {
  return native ? native('sha256', text) : portableSha256Hex(text)
}

export function portableSha256Hex(text: string): string {
  const codes: number[] = []
  for (const byte of sha256(encoder.encode(text))) codes.push(DIGITS[byte >> 4]!, DIGITS[byte & 15]!)
  // At once: a text that is put together byte by byte keeps a node for each in memory.
  return String.fromCharCode(...codes)
}

/** L12: what a person approves is bound to these bytes. */
export function digestOf(toolName: string, input: Json): string {
  return digestOfCanonical(toolName, canonicalJson(input))
}

/** The same for an input that is canonical JSON already. */
export function digestOfCanonical(toolName: string, input: string): string {
  return sha256Hex(`{"input":${input},"toolName":${JSON.stringify(toolName)}}`)
}

/** Five times as fast as the portable one. Found at run time, where there is one: this runs in browsers too. */
function nativeHash(): ((algorithm: string, text: string) => string) | undefined {
  const host = (globalThis as { process?: { getBuiltinModule?: (name: string) => { hash?: typeof native } } })
    .process
  return host?.getBuiltinModule?.('crypto').hash
}
