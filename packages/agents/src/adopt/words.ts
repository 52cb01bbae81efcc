/** A text as it is; anything else counts as none. */
export function words(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
