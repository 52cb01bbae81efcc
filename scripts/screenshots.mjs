// Makes pictures of the states of the web app into `screenshots/`: desktop and phone, light and dark. All of them, or those
// whose names are given.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, devices } from 'playwright-core'
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
  const context = await browser.newContext()
  const signingIn = await context.newPage()
  await signingIn.goto(gateway.openUrl)
  await signingIn.waitForURL(`${gateway.url}/`)
  const signedIn = await context.storageState()
  for (const [name, { prepare, show, isSignedOut = false }] of Object.entries(states)) {
    // What one state prepares stands in the pictures of the next ones, as it does for people.
    const hash = (await prepare?.(gateway)) ?? ''
    if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) continue
    const login = isSignedOut ? {} : { storageState: signedIn }
    await Promise.all(
      looks.map(async ({ look, ...device }) => {
        const window = await browser.newContext({ ...device, ...login, reducedMotion: 'reduce' })
        const page = await window.newPage()
        await page.goto(`${gateway.url}/${hash}`)
        await page.locator('#root :is(button, h1):visible').first().waitFor()
        await show?.(page)
        await page.evaluate(() => document.fonts.ready)
        // Cards take what they need on demand.
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
