import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { pressUntil, settle } from './browser.js'

/** Takes the tour from the first page to the last words of the demo agent, with a click for each request. */
export async function takeTour(page: Page): Promise<void> {
  const hasStreamed = await watchStreaming(page)
  await page.getByRole('button', { name: 'Take the tour' }).click()
  await page.getByRole('button', { name: /Read package\.json/ }).waitFor()
  await page.getByRole('radio', { name: /PostgreSQL/ }).click()
  await expect.poll(() => page.title()).toBe('(1) Askback')
  const cards = page.locator('.ab-card')
  await settle(cards.nth(0), 'Submit')
  await page.getByText('PostgreSQL it is.').waitFor()
  await page.getByRole('checkbox', { name: /Search, by name/ }).click()
  const endToEnd = page.getByRole('radio', { name: /End to end/ })
  await pressUntil(page.getByRole('button', { name: 'Next' }), () => endToEnd.isVisible())
  await endToEnd.click()
  await settle(cards.nth(1), 'Submit')
  await settle(cards.nth(2), 'Approve once')
  await page.getByText('Done. Next, one file needs a change.').waitFor()
  await page.locator('.ab-diff-row[data-type=added]').waitFor()
  await settle(cards.nth(3), 'Approve once')
  await settle(cards.nth(4), 'Proceed')
  await page.getByText('That was the tour.').waitFor()
  await expect.poll(() => page.title()).toBe('Askback')
  await expect.poll(hasStreamed).toBe(true)
}

/** Records whether a text was shown while it was streamed. It is complete too soon for the test to wait for that. */
async function watchStreaming(page: Page): Promise<() => Promise<boolean>> {
  const seen = await page.evaluateHandle(() => {
    const found = { streaming: false }
    new MutationObserver(() => {
      found.streaming ||= document.querySelector('.ab-markdown[data-streaming]') !== null
    }).observe(document.body, { subtree: true, childList: true, attributes: true })
    return found
  })
  return () => seen.evaluate(({ streaming }) => streaming)
}
