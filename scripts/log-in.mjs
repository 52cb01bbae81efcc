/** @import { Browser, BrowserContext } from 'playwright-core' */

/**
 * Opens the link with which a gateway logs its owner in, and returns the state of a browser that is logged in.
 *
 * @param {Browser} browser
 * @param {{ url: string; openUrl: string }} gateway
 * @returns {Promise<Awaited<ReturnType<BrowserContext['storageState']>>>}
 */
export async function logIn(browser, { url, openUrl }) {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(openUrl)
  await page.waitForURL(`${url}/`)
  const state = await context.storageState()
  await context.close()
  return state
}
