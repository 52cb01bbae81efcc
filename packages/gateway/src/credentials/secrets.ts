import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** 256 random bits, with a prefix that tells a leaked one from other strings. */
export function newToken(prefix: string): string {
  return `${prefix}_${randomBytes(32).toString('base64url')}`
}

/** What is kept of a token. Looking it up by its hash tells nothing by how long that takes. */
export function hashOf(token: string): string {
  return hash('sha256', token, 'hex')
}

export function macOf(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url')
}

/** Compares bytes: two strings of the same length need not have as many bytes. */
export function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
