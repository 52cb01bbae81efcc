import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join } from 'node:path'
import { median } from '../core/measure.mjs'
import { newPage } from './browser.mjs'

/** @import { BenchmarkResult } from '../core/measure.mjs' */
/** @import { AddressInfo } from 'node:net' */
/** @import { Stage } from './browser.mjs' */

const ROUNDS = 15

/**
 * The first contentful paint, against a page without a script: the same style sheet, one paragraph, and the bytes of the script,
 * which are loaded but not run.
 *
 * @param {Stage} stage
 * @returns {Promise<BenchmarkResult[]>}
 */
export async function firstPaint(stage) {
  const dist = stage.ready.app
  const server = createServer(({ url = '/' }, response) => {
    const path = url === '/' ? '' : url
    response.setHeader('content-type', types[extname(path)] ?? 'text/html')
    if (path === '') return response.end(plainPage(dist))
    const file = join(dist, path)
    const isPacked = existsSync(`${file}.gz`)
    if (isPacked) response.setHeader('content-encoding', 'gzip')
    return response.end(readFileSync(isPacked ? `${file}.gz` : file))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const { port } = /** @type {AddressInfo} */ (server.address())
  const app = []
  const plain = []
  const usable = []
  for (let round = 0; round < ROUNDS; round++) {
    const seen = await paintOf(stage, stage.ready.url, 'nav a')
    app.push(seen.painted)
    usable.push(seen.usable)
    plain.push((await paintOf(stage, `http://127.0.0.1:${port}/`, 'p')).painted)
  }
  server.close()
  return [
    {
      what: 'first contentful paint / static page of the same bytes',
      value: median(app) / median(plain),
      atMost: 2,
    },
    { what: 'first contentful paint', value: median(app), unit: ' ms' },
    { what: 'the app itself is there', value: median(usable), unit: ' ms' },
  ]
}

/** @type {Record<string, string | undefined>} */
const types = { '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' }

/** @param {string} dist */
function plainPage(dist) {
  const page = readFileSync(join(dist, 'index.html'), 'utf8')
  const assets = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? '')
  const links = assets.map((path) =>
    path.endsWith('.css')
      ? `<link rel="stylesheet" href="${path}">`
      : `<link rel="preload" as="fetch" crossorigin href="${path}">`,
  )
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Plain</title><link rel="icon" href="/icon.svg">${links.join('')}</head><body><p>Plain</p></body></html>`
}

/**
 * @param {Stage} stage
 * @param {string} url
 * @param {string} selector Matches when the page can be used.
 */
async function paintOf(stage, url, selector) {
  const page = await newPage(stage)
  await page.addInitScript((wanted) => {
    const observer = new MutationObserver(() => {
      if (!document.querySelector(wanted)) return
      performance.mark('usable')
      observer.disconnect()
    })
    observer.observe(document, { childList: true, subtree: true })
  }, selector)
  await page.goto(url)
  await page.locator(selector).first().waitFor()
  const times = await page.waitForFunction(() => {
    const [painted] = performance.getEntriesByName('first-contentful-paint')
    const [usable] = performance.getEntriesByName('usable')
    return painted && usable && { painted: painted.startTime, usable: usable.startTime }
  })
  const value = await times.jsonValue()
  await page.context().close()
  return /** @type {{ painted: number; usable: number }} */ (value)
}
