import { chromium } from 'playwright-core'

/** @import { Browser, BrowserContext, Page } from 'playwright-core' */

/**
 * @typedef {object} Ready
 * @property {string} url
 * @property {string} openUrl
 * @property {string} short A session of 100 events.
 * @property {string} long One of 10,000.
 * @property {string[]} many Sessions of 200 events.
 * @property {string[]} asking Sessions with one question each.
 */

/** @typedef {{ browser: Browser; ready: Ready; login: Awaited<ReturnType<BrowserContext['cookies']>> }} Stage */

/**
 * @param {Ready} ready
 * @returns {Promise<Stage>}
 */
export async function openStage(ready) {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run'],
  })
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(ready.openUrl)
  const login = await context.cookies()
  await context.close()
  return { browser, ready, login }
}

/**
 * A page in a profile of its own, with nothing in its cache.
 *
 * @param {Stage} stage
 * @returns {Promise<Page>}
 */
export async function newPage({ browser, login }) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 850 } })
  await context.addCookies(login)
  return context.newPage()
}

/**
 * @param {Page} page
 * @param {string} sessionId
 */
export async function goToSession(page, sessionId) {
  await page.evaluate((id) => {
    location.hash = `#/s/${id}`
  }, sessionId)
}
