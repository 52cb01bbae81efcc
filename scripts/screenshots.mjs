// Takes screenshots of the states of the web app, on desktop and phone, light and dark, and writes them to `screenshots/`. Arguments
// limit them to states whose names contain one of these words.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, devices } from 'playwright-core'
import { logIn } from './log-in.mjs'
import { states } from './screenshots/states.mjs'
import { startGateway } from './screenshots/gateway.mjs'
import { root } from './workspace.mjs'

const folder = join(root, 'screenshots')
mkdirSync(folder, { recursive: true })
const wanted = process.argv.slice(2)

const gateway = await startGateway()
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
})
const desktop = { viewport: { width: 1280, height: 850 } }
const phone = { ...devices['Pixel 7'], viewport: { width: 375, height: 740 }, deviceScaleFactor: 1 }
const looks = /** @type {const} */ ([
  { look: 'desktop-light', ...desktop, colorScheme: 'light' },
  { look: 'desktop-dark', ...desktop, colorScheme: 'dark' },
  { look: 'phone-light', ...phone, colorScheme: 'light' },
  { look: 'phone-dark', ...phone, colorScheme: 'dark' },
])

try {
  const loginState = await logIn(browser, gateway)
  for (const [name, { prepare, show, isSignedOut = false }] of Object.entries(states)) {
    // Prepared also if it is not wanted: later states build on what earlier ones prepared.
    const hash = (await prepare?.(gateway)) ?? ''
    if (wanted.length > 0 && !wanted.some((word) => name.includes(word))) continue
    const login = isSignedOut ? {} : { storageState: loginState }
    await Promise.all(
      looks.map(async ({ look, ...device }) => {
        const window = await browser.newContext({ ...device, ...login, reducedMotion: 'reduce' })
        const page = await window.newPage()
        await page.goto(`${gateway.url}/${hash}`)
        await page.locator('#root :is(button, h1):visible').first().waitFor()
        await show?.(page)
        await page.evaluate(() => document.fonts.ready)
        // Cards load parts of themselves on demand.
        await page.waitForTimeout(400)
        await page.screenshot({ path: join(folder, `${name}-${look}.png`) })
        await window.close()
      }),
    )
  }
} finally {
  await browser.close()
  await gateway.stop()
}
