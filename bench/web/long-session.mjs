import { median } from '../core/measure.mjs'
import { goToSession, inTime, newPage } from './browser.mjs'

/** @import { BenchmarkResult } from '../core/measure.mjs' */
/** @import { Page } from 'playwright-core' */
/** @import { Stage } from './browser.mjs' */

const ROUNDS = 9

/**
 * From the click on a session until its last words are painted and the page has time for the next key.
 *
 * @param {Stage} stage
 * @returns {Promise<BenchmarkResult[]>}
 */
export async function longSession(stage) {
  const { short, long } = stage.ready
  const times = { short: /** @type {number[]} */ ([]), long: /** @type {number[]} */ ([]) }
  for (let round = 0; round < ROUNDS; round++) {
    times.short.push(await timeToUse(stage, short))
    times.long.push(await timeToUse(stage, long))
  }
  return [
    {
      what: '10,000 events interactive / 100 events',
      value: median(times.long) / median(times.short),
      atMost: 1.5,
    },
    { what: '10,000 events interactive', value: median(times.long), unit: ' ms' },
  ]
}

/**
 * @param {Stage} stage
 * @param {string} sessionId
 */
async function timeToUse(stage, sessionId) {
  const page = await newPage(stage)
  const value = await inTime(page, open(stage, page, sessionId))
  await page.context().close()
  return value
}

/**
 * @param {Stage} stage
 * @param {Page} page
 * @param {string} sessionId
 */
async function open(stage, page, sessionId) {
  await page.goto(stage.ready.url)
  await page.locator('nav li a').first().waitFor()
  await page.evaluate(() => {
    addEventListener('hashchange', () => {
      performance.mark('asked')
      const look = () => {
        const isThere = document.querySelector('.ab-timeline')?.textContent?.endsWith('the last words.')
        if (!isThere) return requestAnimationFrame(look)
        // After this frame is painted, and everything before it is done.
        return setTimeout(() => performance.measure('usable', 'asked'), 0)
      }
      requestAnimationFrame(look)
    })
  })
  await goToSession(page, sessionId)
  const time = await page.waitForFunction(() => performance.getEntriesByName('usable')[0]?.duration)
  return Number(await time.jsonValue())
}
