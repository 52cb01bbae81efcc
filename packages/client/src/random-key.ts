/** Unguessable, also where `crypto.randomUUID` is missing: browsers have that in secure contexts only. */
export function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
