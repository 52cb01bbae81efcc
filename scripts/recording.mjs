// Records the moving picture of the README, docs/images/askback.webp: the web app in Chromium while the demo agent asks a question and wants
// to change a file. `npm run recording` builds everything first. It needs Chromium and img2webp (on Debian the package webp).
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { logIn } from './log-in.mjs'
import { startGateway } from './screenshots/gateway.mjs'
import { root } from './workspace.mjs'

/** @import { Locator, Page } from 'playwright-core' */

const OUTPUT = join(root, 'docs/images/askback.webp')
const SIZE = { width: 960, height: 600 }
const FRAME_MS = 80
const MOVE_FRAMES = 9

if (spawnSync('img2webp', ['-version']).error) {
  console.error('img2webp is missing: install it, on Debian with the package webp.')
  process.exit(1)
}

const folder = mkdtempSync(join(tmpdir(), 'askback-recording-'))
/** @type {{ file: string; image: Buffer; ms: number }[]} */
const frames = []
let pointer = { x: SIZE.width / 2, y: SIZE.height - 60 }

const gateway = await startGateway()
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
})
try {
  const storageState = await logIn(browser, gateway)
  const context = await browser.newContext({ viewport: SIZE, colorScheme: 'light', storageState })
  await play(await context.newPage())
  encode()
} finally {
  await browser.close()
  await gateway.stop()
  rmSync(folder, { recursive: true })
}

/** @param {Page} page */
async function play(page) {
  // Without the offer of notifications.
  await page.addInitScript(() => localStorage.setItem('askback.notify-offered', 'yes'))
  await page.goto(gateway.url)
  await page.getByRole('button', { name: 'Take the tour' }).waitFor()
  await addPointer(page)
  const button = (/** @type {string} */ name) => page.getByRole('button', { name, exact: true })
  const cards = page.locator('.ab-card')
  const waitUntilSettled = (/** @type {number} */ index) =>
    page.locator(`.ab-card[data-phase=settled] >> nth=${index}`).waitFor()

  await hold(page, 800)
  await click(page, button('Take the tour'))
  await record(page, page.getByRole('radio', { name: /SQLite/ }))
  await hold(page, 1000)
  await click(page, page.getByRole('radio', { name: /PostgreSQL/ }))
  await hold(page, 400)
  await click(page, button('Submit'))
  await record(page, page.getByRole('checkbox', { name: /Search, by name/ }))

  // Not recorded: two more questions and a command.
  await page.getByRole('checkbox', { name: /Search, by name/ }).click()
  await press(page, button('Next'), page.getByRole('radio', { name: /End to end/ }))
  await page.getByRole('radio', { name: /End to end/ }).click()
  await press(page, button('Submit').last(), button('Approve once'))
  await press(page, button('Approve once').last(), page.locator('.ab-diff-row[data-type=added]'))

  await cards.nth(3).scrollIntoViewIfNeeded()
  await hold(page, 1600)
  await click(page, cards.nth(3).getByRole('button', { name: 'Approve once' }))
  await waitUntilSettled(3)
  // The next card moves the settled one out of sight.
  await button('Proceed').waitFor()
  await cards.nth(3).evaluate((card) => card.scrollIntoView({ block: 'center' }))
  await page.waitForTimeout(700)
  await hold(page, 2500)
}

/**
 * Takes a picture, and shows it for a time.
 *
 * @param {Page} page
 * @param {number} ms
 */
async function hold(page, ms) {
  const image = await page.screenshot({ animations: 'allow' })
  const last = frames.at(-1)
  if (last && image.equals(last.image)) last.ms += ms
  else frames.push({ file: join(folder, `${frames.length}.png`), image, ms })
}

/**
 * Records until something is visible, for example while a text streams in.
 *
 * @param {Page} page
 * @param {Locator} end
 */
async function record(page, end) {
  while (!(await end.isVisible())) {
    await hold(page, FRAME_MS)
    await page.waitForTimeout(FRAME_MS)
  }
}

/**
 * Presses a control that is not recorded until the next thing is visible: a card that has just appeared ignores a press.
 *
 * @param {Page} page
 * @param {Locator} control
 * @param {Locator} next
 */
async function press(page, control, next) {
  while (!(await next.first().isVisible())) {
    if (await control.isEnabled().catch(() => false))
      await control.click({ timeout: 2000 }).catch(() => undefined)
    await page.waitForTimeout(400)
  }
}

/**
 * Moves the pointer to a control, and clicks.
 *
 * @param {Page} page
 * @param {Locator} control
 */
async function click(page, control) {
  await control.scrollIntoViewIfNeeded()
  // The control of a card that has just appeared or moved is not armed yet.
  await page.waitForTimeout(500)
  const box = await control.boundingBox()
  if (!box) throw new Error('A control that should be clicked is not visible.')
  const from = pointer
  const to = { x: box.x + Math.min(box.width / 2, 60), y: box.y + box.height / 2 }
  for (let frame = 1; frame <= MOVE_FRAMES; frame++) {
    const part = (1 - Math.cos((Math.PI * frame) / MOVE_FRAMES)) / 2
    pointer = { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part }
    await page.mouse.move(pointer.x, pointer.y)
    await hold(page, 40)
  }
  await hold(page, 250)
  await page.waitForTimeout(400)
  await page.mouse.click(to.x, to.y)
  await hold(page, 150)
}

/**
 * A screenshot has no pointer, so the page draws one.
 *
 * @param {Page} page
 */
async function addPointer(page) {
  await page.evaluate(() => {
    const arrow = document.createElementNS('http://www.w3.org/2000/svg', 'svg')
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path')
    path.setAttribute('d', 'M1 1v17l4-4 3 7 3-1-3-7h6z')
    path.setAttribute('fill', '#111')
    path.setAttribute('stroke', '#fff')
    arrow.append(path)
    Object.assign(arrow.style, {
      position: 'fixed',
      width: '18px',
      height: '24px',
      zIndex: '9999',
      pointerEvents: 'none',
    })
    document.documentElement.append(arrow)
    document.addEventListener('mousemove', ({ clientX, clientY }) => {
      arrow.style.left = `${clientX}px`
      arrow.style.top = `${clientY}px`
    })
  })
  await page.mouse.move(pointer.x, pointer.y)
}

function encode() {
  const args = frames.flatMap(({ file, image, ms }) => {
    writeFileSync(file, image)
    return ['-d', String(ms), '-lossy', '-q', '85', '-m', '6', file]
  })
  const { status, stderr } = spawnSync('img2webp', ['-loop', '0', ...args, '-o', OUTPUT], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`img2webp failed: ${stderr}`)
  const seconds = frames.reduce((sum, { ms }) => sum + ms, 0) / 1000
  console.log(
    `${OUTPUT}: ${frames.length} frames, ${seconds.toFixed(1)} s, ${Math.round(statSync(OUTPUT).size / 1024)} KB`,
  )
}
