import { sha256 } from '@noble/hashes/sha2.js'
import { canonicalJson, type Json } from './json.js'

const encoder = new TextEncoder()
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

export function sha256Hex(text: string): string {
  // Joined at once: a text that is put together byte by byte keeps a node for each in memory.
  return Array.from(sha256(encoder.encode(text)), (byte) => HEX[byte]).join('')
}

/** L12: what a person approves is bound to these bytes. */
export function digestOf(toolName: string, input: Json): string {
  return sha256Hex(canonicalJson({ input, toolName }))
}
