import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Locator,
  type Page,
} from 'playwright-core'
import { afterAll, afterEach, expect } from 'vitest'

export const CHROMIUM = '/usr/bin/chromium'

export const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Longer than the pause that a card requires after an ignored press. */
const BETWEEN_PRESSES_MS = 400

/** Timeout of one of several presses: the control may disappear before it is pressed, if an earlier press took effect late. */
const PRESS_MS = 5000

/** The same as the timeout of `expect.poll`. */
const PATIENCE_MS = 45_000

/** `ASKBACK_SLOW_BROWSER=6` slows pages down by six, so that tests with races fail. */
const SLOWDOWN = Number(process.env['ASKBACK_SLOW_BROWSER'] ?? 1)

const browser: Browser = await chromium.launch({
  executablePath: CHROMIUM,
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

/** A page in its own profile. An error of the page, or a message of the browser about our headers, fails the test. */
export async function newPage(options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 850 }, ...options })
  context.setDefaultTimeout(PATIENCE_MS)
  const errors: string[] = []
  pages.push({ context, errors })
  if (SLOWDOWN > 1) context.on('page', (page) => void slowDown(page))
  const page = await context.newPage()
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => {
    // A header that the browser does not understand is a bug of ours; other messages may be caused by the test itself.
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
 * Presses a control of a card until `isDone`. A press is ignored if the control has moved a moment before, for example because a
 * banner appeared, and also right after an ignored press.
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

/** Presses a control of a card until the card is settled. */
export async function settle(card: Locator, name: string): Promise<void> {
  const control = card.getByRole('button', { name, exact: true })
  await pressUntil(control, async () => (await card.getAttribute('data-phase')) === 'settled')
}

/** Waits until the element has a text, and returns it. */
export async function textOf(element: Locator): Promise<string> {
  let text = ''
  await expect.poll(async () => (text = (await element.textContent()) ?? '')).not.toBe('')
  return text
}

/** Resolves when the app, if it runs already, shows that page and nothing of the last one. */
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
