import { sha256 } from '@noble/hashes/sha2.js'
import type { Json } from './json.js'

/**
 * The canonical JSON of RFC 8785: object keys in the order of their UTF-16 code units, no white space, numbers as
 * ECMAScript writes them. Equal values have equal texts, whatever order their keys were written in.
 */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  let text = '{'
  for (const key of Object.keys(value).sort()) {
    if (text.length > 1) text += ','
    text += `${JSON.stringify(key)}:${canonicalJson(value[key]!)}`
  }
  return `${text}}`
}

/**
 * The digest of a request (L12): the hex SHA-256 of the canonical JSON of `{ input, toolName }`. An answer that names it is
 * bound to exactly this request.
 *
 * @example
 * digestOf('Bash', { command: 'ls' }) === digestOf('Bash', { command: 'ls -a' }) // false
 */
export function digestOf(toolName: string, input: Json): string {
  return digestOfCanonical(toolName, canonicalJson(input))
}

/**
 * `digestOf` for an input that is canonical JSON already, so that it need not be written twice.
 *
 * @internal
 */
export function digestOfCanonical(toolName: string, input: string): string {
  return sha256Hex(`{"input":${input},"toolName":${JSON.stringify(toolName)}}`)
}

const nativeHash = /* @__PURE__ */ findNativeHash()

/** @internal */
export function sha256Hex(text: string): string {
  return nativeHash ? nativeHash('sha256', text) : portableSha256Hex(text)
}

const encoder = /* @__PURE__ */ new TextEncoder()
const HEX_DIGITS = /* @__PURE__ */ Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0))

/** Exported so that tests can compare it with the native hash. */
export function portableSha256Hex(text: string): string {
  const codes: number[] = []
  for (const byte of sha256(encoder.encode(text))) codes.push(HEX_DIGITS[byte >> 4]!, HEX_DIGITS[byte & 15]!)
  // In one call: engines keep a string that was concatenated byte by byte as a tree with a node for each byte.
  return String.fromCharCode(...codes)
}

/** Node's hash is five times as fast. It is looked up at run time because this package also runs in browsers. */
function findNativeHash(): ((algorithm: string, text: string) => string) | undefined {
  const host =
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the types of Node.js are not available here; each step may be missing
    (globalThis as { process?: { getBuiltinModule?: (name: string) => { hash?: typeof nativeHash } } })
      .process
  return host?.getBuiltinModule?.('crypto').hash
}
