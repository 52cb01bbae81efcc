import { chromium } from 'playwright-core'
import { logIn } from '../../scripts/log-in.mjs'

/** @import { Browser, BrowserContext, Page } from 'playwright-core' */

/**
 * @typedef {object} Ready
 * @property {string} url
 * @property {string} app The folder of the built app.
 * @property {string} openUrl
 * @property {string} short A session of 100 events.
 * @property {string} long A session of 10,000 events.
 * @property {string[]} many Sessions of 200 events.
 * @property {string[]} asking Sessions with one question each.
 */

/** @typedef {{ browser: Browser; ready: Ready; login: Awaited<ReturnType<BrowserContext['storageState']>> }} Stage */

/**
 * @param {Ready} ready
 * @returns {Promise<Stage>}
 */
export async function openStage(ready) {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run'],
  })
  return { browser, ready, login: await logIn(browser, ready) }
}

/**
 * Opens a page in its own profile, with an empty cache.
 *
 * @param {Stage} stage
 * @returns {Promise<Page>}
 */
export async function newPage({ browser, login }) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 850 }, storageState: login })
  const page = await context.newPage()
  recordings.set(page, record(page))
  return page
}

/** @type {WeakMap<Page, string[]>} */
const recordings = new WeakMap()
const MAX_RECORDED_LINES = 60

/**
 * Records the last console messages, requests and frames of a page.
 *
 * @param {Page} page
 */
function record(page) {
  /** @type {string[]} */
  const lines = []
  /** @param {string} line */
  const note = (line) => {
    lines.push(`${new Date().toISOString()} ${line.slice(0, 200)}`)
    if (lines.length > MAX_RECORDED_LINES) lines.shift()
  }
  page.on('console', (message) => note(`console: ${message.text()}`))
  page.on('pageerror', (error) => note(`error: ${error.message}`))
  page.on('crash', () => note('crashed'))
  page.on('response', (response) => note(`${response.status()} ${response.url()}`))
  page.on('requestfailed', (request) => note(`failed ${request.url()} ${request.failure()?.errorText}`))
  page.on('websocket', (socket) => {
    socket.on('framesent', ({ payload }) => note(`> ${String(payload)}`))
    socket.on('framereceived', ({ payload }) => note(`< ${String(payload)}`))
    socket.on('close', () => note('the socket is closed'))
  })
  return lines
}

const TIMEOUT_MS = 20_000

/**
 * Fails after a timeout, and prints what the page showed and did.
 *
 * @template T
 * @param {Page} page
 * @param {Promise<T>} work
 * @param {number} [timeoutMs]
 * @returns {Promise<T>}
 */
export async function inTime(page, work, timeoutMs = TIMEOUT_MS) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('The page took too long.')), timeoutMs)
  })
  try {
    return /** @type {T} */ (await Promise.race([work, late]))
  } catch (error) {
    console.error((recordings.get(page) ?? []).join('\n'))
    const shown = page.evaluate(() => `${location.href}\n${document.body.innerText.slice(-1000)}`)
    const nothing = new Promise((resolve) => setTimeout(resolve, 2000, 'The page does not answer.'))
    console.error(await Promise.race([shown, nothing]).catch(String))
    throw error
  } finally {
    clearTimeout(timer)
  }
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
