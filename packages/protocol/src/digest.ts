import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { canonicalJson, type Json } from './json.js'

const encoder = new TextEncoder()

export function sha256Hex(text: string): string {
  return bytesToHex(sha256(encoder.encode(text)))
}

/** L12: what a person approves is bound to these bytes. */
export function digestOf(toolName: string, input: Json): string {
  return sha256Hex(canonicalJson({ input, toolName }))
}
