import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { chromium, type BrowserContext, type Page } from 'playwright-core'
import { rolldown } from 'rolldown'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readSample } from '../docs/run-sample.js'
import { CHROMIUM, FLAGS, newPage } from '../e2e/web/browser.js'
import type { TabProgram } from './tab-program.js'

declare global {
  var tab: TabProgram
}

const program = await bundle(fileURLToPath(new URL('tab-program.ts', import.meta.url)))
const server = createServer(({ url }, response) => {
  const isProgram = url === '/program.js'
  response.setHeader('content-type', isProgram ? 'text/javascript' : 'text/html')
  // For the frame without an origin.
  response.setHeader('access-control-allow-origin', '*')
  response.end(isProgram ? program : '<!doctype html><script type="module" src="/program.js"></script>')
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
afterAll(() => server.close())
const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`

/** @param source of the file, if it does not exist */
async function bundle(file: string, source?: string): Promise<string> {
  const own = (id: string) => (id === file && source !== undefined ? file : null)
  const build = await rolldown({
    input: file,
    plugins: [{ name: 'source', resolveId: own, load: (id) => own(id) && source }],
    platform: 'browser',
    resolve: { conditionNames: ['askback-source', 'browser', 'import', 'default'] },
  })
  const { output } = await build.generate({ format: 'esm', codeSplitting: false })
  await build.close()
  return output[0].code
}

async function openTab(context: BrowserContext): Promise<Page> {
  const page = await context.newPage()
  return load(page)
}

async function load(page: Page): Promise<Page> {
  await page.goto(address)
  await page.waitForFunction(() => 'tab' in globalThis)
  return page
}

async function approve(page: Page, interactionId: string): Promise<void> {
  await page.evaluate(async (id) => {
    const desk = await tab.desk
    const answer = { decision: 'edit' }
    await desk.as({ via: 'web', by: { id: 'ada' } }).respond({ interactionId: id, answer })
  }, interactionId)
}

describe('a desk on IndexedDB', () => {
  let page: Page
  beforeEach(async () => {
    page = await load(await newPage())
  })

  it('keeps what is pending through a reload, and the request can be answered afterwards', async () => {
    const interactionId = await page.evaluate(() => tab.open('Deploy'))
    await load(page)
    const pending = () => page.evaluate(async () => (await tab.desk).session('s').pending())
    expect(await pending()).toMatchObject([{ interactionId, request: { plan: 'Deploy' } }])
    await approve(page, interactionId)
    expect(await pending()).toEqual([])
  })

  it('tells a tab at once what a person answered in another', async () => {
    const other = await openTab(page.context())
    const interactionId = await page.evaluate(() => tab.open('Deploy'))
    const settled = page.evaluate(async (id) => (await tab.desk).wait(id, { sessionId: 's' }), interactionId)
    await approve(other, interactionId)
    expect(await settled).toMatchObject({ settlement: 'approved', by: { id: 'ada' } })
  })

  it('loses and mixes nothing while several tabs write to one session', async () => {
    const tabs = [page, await openTab(page.context()), await openTab(page.context())]
    const ROUNDS = 30
    await Promise.all(
      tabs.map((each, index) =>
        each.evaluate(
          async ({ index, rounds }) => {
            const session = (await tab.desk).session('s')
            for (let round = 0; round < rounds; round++) {
              const blockId = `${index}.${round}`
              await session.report({ type: 'text', blockId, text: blockId })
            }
          },
          { index, rounds: ROUNDS },
        ),
      ),
    )
    const events = await page.evaluate(async () => (await tab.store).read({ sessionId: 's', limit: 1000 }))
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
    for (const index of tabs.keys()) {
      const own = events.flatMap((event) =>
        event.type === 'text' && event.blockId.startsWith(`${index}.`) ? [event.text] : [],
      )
      expect(own).toEqual(Array.from({ length: ROUNDS }, (_, round) => `${index}.${round}`))
    }
  })

  it('says in a sentence that the storage is full, and loses nothing that it accepted', async () => {
    // Before the database is opened: the browser remembers for half a minute how much space it has left.
    const page = await newPage()
    const devtools = await page.context().newCDPSession(page)
    await devtools.send('Storage.overrideQuotaForOrigin', { origin: address, quotaSize: 300_000 })
    await load(page)
    await page.evaluate(() => tab.open('small'))
    const large = 'x'.repeat(900_000)
    const refusal = await page.evaluate((text) => tab.open(text).then(() => null, String), large)
    expect(refusal).toContain(
      'The database tabs is full: the browser gives this site no more space. Free space on the device, or delete sessions. Nothing was written.',
    )
    await page.evaluate(() => tab.open('small again'))
    await load(page)
    const pending = await page.evaluate(async () => (await tab.desk).session('s').pending())
    expect(pending.map(({ request }) => request)).toEqual([{ plan: 'small' }, { plan: 'small again' }])
  })

  it('says in a sentence that the browser blocks storage', async () => {
    await page.setContent(`<iframe sandbox="allow-scripts" src="${address}"></iframe>`)
    const [, frame] = page.frames()
    await frame!.waitForFunction(() => 'tab' in globalThis)
    expect(await frame!.evaluate(() => tab.refusal())).toContain(
      'The database tabs cannot be used: the browser blocks storage for this page',
    )
  })
})

it('does what the README of the store says', async () => {
  const { sample, expected } = readSample('packages/store-indexeddb/README.md')
  const file = fileURLToPath(new URL('sample.ts', import.meta.url))
  const page = await newPage()
  const printed: unknown[] = []
  page.on('console', (message) => printed.push(message.args()[0]?.jsonValue()))
  const body = await bundle(file, sample)
  await page.route(`${address}program.js`, (route) => route.fulfill({ contentType: 'text/javascript', body }))
  await page.goto(address)
  await expect.poll(() => printed.length).toBe(1)
  expect(expected).not.toEqual([])
  expect((await Promise.all(printed)).map((value) => inspect(value))).toEqual(expected)
})

describe('a browser that is killed', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'askback-profile-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))

  const start = () => chromium.launchPersistentContext(folder, { executablePath: CHROMIUM, args: FLAGS })

  it('has everything that was acknowledged when it starts again', async () => {
    const context = await start()
    const page = await openTab(context)
    const acknowledged: string[] = []
    await page.exposeFunction('acknowledge', (id: string) => acknowledged.push(id))
    const writing = page
      .evaluate(async () => {
        const { acknowledge } = globalThis as unknown as { acknowledge: (id: string) => Promise<void> }
        for (;;) await acknowledge(await tab.open('Deploy'))
      })
      .catch(() => undefined)
    await expect.poll(() => acknowledged.length).toBeGreaterThan(20)
    const devtools = await context.newCDPSession(page)
    await devtools.send('Browser.crash').catch(() => undefined)
    await writing
    await context.close().catch(() => undefined)

    const next = await start()
    const pending = await (await openTab(next)).evaluate(async () => (await tab.desk).session('s').pending())
    const found = new Set(pending.map(({ interactionId }) => interactionId))
    expect(acknowledged.filter((id) => !found.has(id))).toEqual([])
    await next.close()
  })
})
