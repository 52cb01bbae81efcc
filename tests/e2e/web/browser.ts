import { join } from 'node:path'
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from 'playwright-core'
import { build } from 'vite'
import { afterAll, afterEach, expect } from 'vitest'
import { root } from '../../architecture/workspace.js'
import type { RunningGateway } from '../http/gateways.js'

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

// The command that the tests bundle looks for the web app here.
await build({
  root: join(root, 'apps/web'),
  logLevel: 'error',
  build: { outDir: join(root, 'node_modules/.cache/askback/e2e/web'), emptyOutDir: true },
})

const browser: Browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS })
afterAll(() => browser.close())

const windows: { context: BrowserContext; errors: string[] }[] = []
afterEach(async () => {
  const errors = windows.flatMap((window) => window.errors)
  await Promise.all(windows.splice(0).map(({ context }) => context.close()))
  expect(errors).toEqual([])
})

/** A browser of its own, signed in. Whatever a page throws fails the test. */
export async function openWindow(
  gateway: RunningGateway,
  options: BrowserContextOptions = {},
): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 850 }, ...options })
  const errors: string[] = []
  windows.push({ context, errors })
  const { url } = gateway.ready
  await context.addCookies([{ ...(await signIn(gateway)), url, httpOnly: true, sameSite: 'Strict' }])
  const page = await context.newPage()
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('dialog', (dialog) => errors.push(`a dialog: ${dialog.message()}`))
  await page.goto(url)
  return page
}

/** The code works once: windows of the same person share what it gave. */
async function signIn(gateway: RunningGateway): Promise<{ name: string; value: string }> {
  const known = logins.get(gateway.data)
  if (known) return known
  const login = await fetch(gateway.ready.openUrl, { redirect: 'manual' })
  const [name = '', value = ''] = login.headers.get('set-cookie')!.split(';', 1)[0]!.split('=')
  logins.set(gateway.data, { name, value })
  return { name, value }
}

const logins = new Map<string, { name: string; value: string }>()

export async function goTo(page: Page, hash: string): Promise<void> {
  await page.evaluate((to) => {
    location.hash = to
  }, hash)
}
