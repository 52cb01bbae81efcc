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

/** For one press, of several: the control may go before it is pressed, as when an earlier press was counted late. */
const PRESS_MS = 5000

/** As long as `expect.poll` has. */
const PATIENCE_MS = 45_000

/** `ASKBACK_SLOW_BROWSER=6` gives pages a sixth of the processor: what depends on luck fails then. */
const SLOWDOWN = Number(process.env['ASKBACK_SLOW_BROWSER'] ?? 1)

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
  if (SLOWDOWN > 1) context.on('page', (page) => void slowDown(page))
  const page = await context.newPage()
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => {
    // A header that the browser does not understand is a mistake of ours; other messages may be the test's own doing.
    if (message.text().includes('Permissions-Policy')) errors.push(message.text())
  })
  page.on('dialog', (dialog) => errors.push(`a dialog: ${dialog.message()}`))
  return page
}

async function slowDown(page: Page): Promise<void> {
  const devTools = await page.context().newCDPSession(page)
  await devTools.send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN })
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
        if (await control.isVisible()) await control.click({ timeout: PRESS_MS })
        return isDone()
      },
      { interval: BETWEEN_PRESSES_MS },
    )
    .toBe(true)
}

/** Presses a control of a card until the card says that it is settled. */
export async function settle(card: Locator, name: string): Promise<void> {
  const control = card.getByRole('button', { name, exact: true })
  await pressUntil(control, async () => (await card.getAttribute('data-phase')) === 'settled')
}

/** A text that the test goes on with. Waits until there is one. */
export async function textOf(element: Locator): Promise<string> {
  let text = ''
  await expect.poll(async () => (text = (await element.textContent()) ?? '')).not.toBe('')
  return text
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
