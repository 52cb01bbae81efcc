import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { pressUntil } from './browser.js'

/** From the first page to the last words of the demo agent, with a click for each thing that it asks. */
export async function takeTour(page: Page): Promise<void> {
  const hasStreamed = await watchStreaming(page)
  await page.getByRole('button', { name: 'Take the tour' }).click()
  await page.getByRole('button', { name: /Read package\.json/ }).waitFor()
  await page.getByRole('radio', { name: /PostgreSQL/ }).click()
  await expect.poll(() => page.title()).toBe('(1) Askback')
  await page.getByRole('button', { name: 'Submit' }).click()
  await page.getByText('PostgreSQL it is.').waitFor()
  await page.getByRole('checkbox', { name: /Search, by name/ }).click()
  await page.getByRole('button', { name: 'Next' }).click()
  await page.getByRole('radio', { name: /End to end/ }).click()
  await page.getByRole('button', { name: 'Submit' }).click()
  await page.getByRole('button', { name: 'Approve once' }).click()
  await page.getByText('Done. Next, one file needs a change.').waitFor()
  // A pointer that stays where it is might rest on what comes next: then the first press is ignored.
  await page.mouse.move(0, 0)
  await page.locator('.ab-diff-row[data-type=added]').waitFor()
  const proceed = page.getByRole('button', { name: 'Proceed', exact: true })
  await pressUntil(page.getByRole('button', { name: 'Approve once' }), () => proceed.isVisible())
  const end = page.getByText('That was the tour.')
  await pressUntil(proceed, () => end.isVisible())
  await expect.poll(() => page.title()).toBe('Askback')
  expect(await hasStreamed()).toBe(true)
}

/** Whether a text was shown while it was written: each is whole a moment later, which is too short to be waited for. */
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
