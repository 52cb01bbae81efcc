import type { BrowserContextOptions, Page } from 'playwright-core'
import type { RunningGateway } from '../http/gateways.js'
import { madeOnce } from '../http/made-once.js'
import { newPage } from './browser.js'
import { buildApp } from './build-app.js'

/** The command that the tests bundle looks for the web app here. */
await madeOnce('web', (folder) => buildApp('web', folder))

/** The app of a gateway in a browser of its own, signed in. */
export async function openWindow(
  gateway: RunningGateway,
  options: BrowserContextOptions = {},
): Promise<Page> {
  const page = await newPage(options)
  const { url } = gateway.ready
  await page.context().addCookies([{ ...(await signIn(gateway)), url, httpOnly: true, sameSite: 'Strict' }])
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
