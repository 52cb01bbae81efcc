import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

/** How the page of the web app is served: under which path, and whether it can open WebSockets there. */
export interface PagePlace {
  prefix: string
  sockets: boolean
}

export interface AppPage {
  html: Buffer
  /** Only if the build has a compressed page, too. */
  zipped: Buffer | null
}

/** A prefix can contain parameters of a route, so there may be any number of them. */
const MAX_PAGES = 100

/**
 * The page of the web app's build. Its addresses begin with `./`, which is replaced by the path that the gateway is mounted under, so
 * that the page works at every path. The build is read again whenever it has changed.
 */
export class AppPages {
  readonly #file: string
  readonly #pages = new Map<string, AppPage>()
  #source = ''

  constructor(folder: string) {
    this.#file = join(folder, 'index.html')
  }

  /** `null` if the build has no page. */
  at({ prefix, sockets }: PagePlace): AppPage | null {
    if (!existsSync(this.#file)) return null
    const source = readFileSync(this.#file, 'utf8')
    if (source !== this.#source || this.#pages.size >= MAX_PAGES) this.#pages.clear()
    this.#source = source
    const key = `${sockets ? 'ws' : 'sse'} ${prefix}`
    const known = this.#pages.get(key)
    if (known) return known
    // By a function: in a text, `$&` and the like have a meaning, and a prefix may contain them.
    const text = source.replaceAll('="./', () => `="${prefix}/`)
    const html = Buffer.from(sockets ? text : text.replace('<html ', '<html data-sse="true" '))
    const page = { html, zipped: existsSync(`${this.#file}.gz`) ? gzipSync(html, { level: 9 }) : null }
    this.#pages.set(key, page)
    return page
  }
}

/** Hashes of the inline scripts in the page of the build. No other inline script may run. */
export function scriptHashes(folder: string | undefined): string[] {
  const page = folder === undefined ? null : join(folder, 'index.html')
  const html = page && existsSync(page) ? readFileSync(page, 'utf8') : ''
  return [...html.matchAll(/<script>([^]*?)<\/script>/g)].map(
    ([, script = '']) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`,
  )
}
