// Makes pictures of the main states of the web app into `screenshots/`: desktop and phone, light and dark.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { root } from './workspace.mjs'

const folder = join(root, 'screenshots')
const data = mkdtempSync(join(tmpdir(), 'askback-screenshots-'))
mkdirSync(folder, { recursive: true })

const command = join(root, 'packages/cli/bin/askback.js')
const gateway = spawn(process.execPath, [command, 'serve', '--port', '0', '--data', data, '--json'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
const [line] = await once(gateway.stdout, 'data')
/** @type {{ url: string; openUrl: string }} */
const ready = JSON.parse(String(line))
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
})

try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 850 } })
  const page = await context.newPage()
  await page.goto(ready.openUrl)
  const tour = page.getByRole('button', { name: 'Take the tour' })
  await tour.waitFor()
  await everywhere(context, page, 'welcome')
  await tour.click()
  await page.getByRole('radio', { name: /PostgreSQL/ }).waitFor()
  await everywhere(context, page, 'question')
  await page.getByRole('radio', { name: /PostgreSQL/ }).click()
  await page.getByRole('button', { name: 'Submit' }).click()
  await page.getByRole('checkbox', { name: /Search/ }).click()
  await page.getByRole('button', { name: 'Next' }).click()
  await page.getByRole('radio', { name: /End to end/ }).click()
  await page.getByRole('button', { name: 'Submit' }).click()
  await page.getByRole('button', { name: 'Approve once' }).waitFor()
  await everywhere(context, page, 'approval')
  await page.getByRole('button', { name: 'Approve once' }).click()
  await page.getByText('one file needs a change').waitFor()
  await page.getByRole('button', { name: 'Approve once' }).waitFor()
  await everywhere(context, page, 'edit')
  await page.getByRole('button', { name: 'Approve once' }).click()
  await page.getByRole('button', { name: 'Proceed', exact: true }).waitFor()
  await everywhere(context, page, 'plan')
  await show(page, '#/inbox')
  await everywhere(context, page, 'inbox')
  await show(page, '#/new')
  await page.getByLabel('Message').fill('A form, please')
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByLabel('Version').waitFor()
  await everywhere(context, page, 'form')
  await show(page, '#/new')
  await everywhere(context, page, 'new')
  await show(page, '#/s/nothing-there')
  await everywhere(context, page, 'not-found')
} finally {
  await browser.close()
  gateway.kill('SIGTERM')
  await once(gateway, 'exit')
  rmSync(data, { recursive: true })
}

/**
 * @param {import('playwright-core').Page} page
 * @param {string} hash
 */
async function show(page, hash) {
  await page.evaluate((to) => {
    location.hash = to
  }, hash)
}

/**
 * @param {import('playwright-core').BrowserContext} context
 * @param {import('playwright-core').Page} page
 * @param {string} name
 */
async function everywhere(context, page, name) {
  const storageState = await context.storageState()
  for (const [size, viewport] of Object.entries({
    desktop: { width: 1280, height: 850 },
    phone: { width: 375, height: 740 },
  })) {
    for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
      const other = await browser.newContext({ viewport, colorScheme, storageState, reducedMotion: 'reduce' })
      const copy = await other.newPage()
      await copy.goto(page.url())
      await copy.locator('main :is(button, a):visible').first().waitFor()
      await copy.evaluate(() => document.fonts.ready)
      // Cards come in with a short movement, and take what they need on demand.
      await copy.waitForTimeout(600)
      await copy.screenshot({ path: join(folder, `${name}-${size}-${colorScheme}.png`) })
      await other.close()
    }
  }
}
