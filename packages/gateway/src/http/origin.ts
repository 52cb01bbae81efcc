/**
 * The origin as a browser sends it in `Origin`, or `null` if there is none. `URL` knows the origins of web pages only: for
 * `app://obsidian.md` it says "null", which is also what every sandboxed frame and local file sends.
 */
export function originOf(url: string): string | null {
  if (!URL.canParse(url)) return null
  const { origin, protocol, host } = new URL(url)
  if (origin !== 'null') return origin
  return host === '' ? null : `${protocol}//${host}`
}

/** For origins that were checked by `originOf` before. */
export function allowedOrigins(urls: readonly string[]): Set<string> {
  return new Set(urls.flatMap((url) => originOf(url) ?? []))
}
