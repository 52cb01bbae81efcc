import { median } from '../core/measure.mjs'
import { goToSession, inTime, newPage } from './browser.mjs'
import { tasksDuring } from './tasks.mjs'

/** @import { BenchmarkResult } from '../core/measure.mjs' */
/** @import { Page } from 'playwright-core' */
/** @import { Stage } from './browser.mjs' */

const ROUNDS = 3
/** Fast scrolling: twelve screens per second. */
const WHEEL_PIXELS = 400
const PAUSE_MS = 40
const LATE_FRAME_MS = (2 * 1000) / 60

/**
 * Scrolls from the last of 10,000 events to the first, while older events are fetched and drawn. Alternates with the same rows in a
 * page without scripts. A frame is late if it comes after more than two frame times.
 *
 * @param {Stage} stage
 * @returns {Promise<BenchmarkResult[]>}
 */
export async function scrolling(stage) {
  /** @type {Record<'app' | 'still', ScrollResult[]>} */
  const results = { app: [], still: [] }
  for (let round = 0; round < ROUNDS; round++) {
    const page = await newPage(stage)
    results.app.push(await inTime(page, scrollApp(stage, page), 120_000))
    const still = await withoutScripts(stage, page)
    results.still.push(await scroll(stage, still))
    await still.context().close()
    await page.context().close()
  }
  /** @param {(result: ScrollResult) => number} of */
  const both = (of) => ({ app: median(results.app.map(of)), still: median(results.still.map(of)) })
  const late = both((result) => result.late)
  const longest = both((result) => result.longest)
  return [
    { what: 'late frames through 10,000 events', value: late.app, unit: ' %', atMost: late.still + 2 },
    { what: 'the same without scripts', value: late.still, unit: ' %' },
    { what: 'longest task on that way', value: longest.app, unit: ' ms', atMost: 50 },
    { what: 'the same without scripts', value: longest.still, unit: ' ms' },
  ]
}

/** @typedef {{ late: number; longest: number }} ScrollResult Percent of the frames, and CPU milliseconds. */

/**
 * @param {Stage} stage
 * @param {Page} page
 */
async function scrollApp(stage, page) {
  await page.goto(stage.ready.url)
  await page.locator('nav li a').first().waitFor()
  await goToSession(page, stage.ready.long)
  await page.getByText('These are the last words.').last().waitFor()
  return scroll(stage, page)
}

/**
 * @param {Stage} stage
 * @param {Page} page
 * @returns {Promise<Page>}
 */
async function withoutScripts(stage, page) {
  const { html, css } = await page.evaluate(() => ({
    html: document.querySelector('.ab-conversation')?.outerHTML ?? '',
    css: [...document.styleSheets]
      .flatMap(({ cssRules }) => [...cssRules].map(({ cssText }) => cssText))
      .join('\n'),
  }))
  const still = await newPage(stage)
  await still.setContent(`<style>${css}</style><div style="height: 100dvh">${html}</div>`)
  await still.locator('.ab-scroller').evaluate((element) => {
    element.scrollTop = element.scrollHeight
  })
  return still
}

/**
 * @param {Stage} stage
 * @param {Page} page
 * @returns {Promise<ScrollResult>}
 */
async function scroll(stage, page) {
  await page.mouse.move(700, 400)
  await page.evaluate(() => new Promise((resolve) => requestIdleCallback(resolve)))
  const frames = await page.evaluateHandle(() => {
    /** @type {number[]} */
    const times = []
    requestAnimationFrame(function note(at) {
      times.push(at)
      requestAnimationFrame(note)
    })
    return times
  })
  const tasks = await tasksDuring(stage, page, async () => {
    while (!(await isAtBeginning(page))) {
      for (let turn = 0; turn < 10; turn++) {
        await page.mouse.wheel(0, -WHEEL_PIXELS)
        await page.waitForTimeout(PAUSE_MS)
      }
    }
  })
  const times = await frames.jsonValue()
  const late = times.filter((at, index) => at - (times[index - 1] ?? at) > LATE_FRAME_MS + 1).length
  return {
    late: (100 * late) / times.length,
    longest: Math.max(...tasks.map(({ computed }) => computed)),
  }
}

/**
 * @param {Page} page
 * @returns {Promise<boolean>}
 */
function isAtBeginning(page) {
  return page
    .locator('.ab-scroller')
    .evaluate((element) => element.scrollTop === 0 && !element.querySelector('.ab-earlier'))
}
