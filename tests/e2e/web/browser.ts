import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Locator,
  type Page,
} from 'playwright-core'
import { afterAll, afterEach, expect } from 'vitest'

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** More than the pause that a card wants after a press that did not count. */
const BETWEEN_PRESSES_MS = 400

/** As long as `expect.poll` has. */
const PATIENCE_MS = 45_000

const browser: Browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: FLAGS,
  timeout: 2 * PATIENCE_MS,
})
afterAll(() => browser.close())

const pages: { context: BrowserContext; errors: string[] }[] = []
afterEach(async () => {
  const errors = pages.flatMap((page) => page.errors)
  await Promise.all(pages.splice(0).map(({ context }) => context.close()))
  expect(errors).toEqual([])
})

/** In a profile of its own. Whatever the page throws, or the browser says about our headers, fails the test. */
export async function newPage(options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 850 }, ...options })
  context.setDefaultTimeout(PATIENCE_MS)
  const errors: string[] = []
  pages.push({ context, errors })
  const page = await context.newPage()
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => {
    // A header that the browser does not understand is a mistake of ours; other messages may be the test's own doing.
    if (message.text().includes('Permissions-Policy')) errors.push(message.text())
  })
  page.on('dialog', (dialog) => errors.push(`a dialog: ${dialog.message()}`))
  return page
}

/**
 * Presses a control of a card until `isDone`. A banner that came or went has moved the card, and a press counts only once the
 * control has stood still for a moment, and not right after one that did not count.
 */
export async function pressUntil(control: Locator, isDone: () => Promise<boolean>): Promise<void> {
  await expect
    .poll(
      async () => {
        if (await isDone()) return true
        if ((await control.isVisible()) && (await control.isEnabled())) await control.click()
        return isDone()
      },
      { interval: BETWEEN_PRESSES_MS },
    )
    .toBe(true)
}

/** Until the app, if it runs already, shows that page and nothing of the last. */
export async function goTo(page: Page, hash: string): Promise<void> {
  await page.evaluate(
    (to) =>
      new Promise<void>((resolve) => {
        if (location.hash === to) return resolve()
        window.addEventListener('hashchange', () => resolve(), { once: true })
        location.hash = to
      }),
    hash,
  )
}
