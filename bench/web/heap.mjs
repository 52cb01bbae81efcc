import { goToSession, newPage } from './browser.mjs'

/** @import { BenchmarkResult } from '../core/measure.mjs' */
/** @import { Stage } from './browser.mjs' */

/** The app releases the store of a session some time after its page was left. */
const RELEASE_MS = 6000

/**
 * The heap after sessions were opened and left, after a garbage collection.
 *
 * @param {Stage} stage
 * @returns {Promise<BenchmarkResult[]>}
 */
export async function heap(stage) {
  const page = await newPage(stage)
  await page.goto(stage.ready.url)
  const devtools = await page.context().newCDPSession(page)
  const { many } = stage.ready
  const after10 = await visit(many.slice(0, 10))
  const after50 = await visit(many.slice(10))
  await page.context().close()
  return [
    { what: 'heap after 50 sessions / after 10', value: after50 / after10, atMost: 1.1 },
    { what: 'heap after 50 sessions', value: after50 / 1e6, unit: ' MB' },
  ]

  /** @param {string[]} sessionIds */
  async function visit(sessionIds) {
    for (const sessionId of sessionIds) {
      await goToSession(page, sessionId)
      await page.getByText('These are the last words.').first().waitFor()
    }
    await page.evaluate(() => {
      location.hash = '#/inbox'
    })
    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
    await page.waitForTimeout(RELEASE_MS)
    await devtools.send('HeapProfiler.collectGarbage')
    return (await devtools.send('Runtime.getHeapUsage')).usedSize
  }
}
