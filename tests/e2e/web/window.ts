import { LOGIN_STORAGE_KEY } from '@askback/protocol'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { logIn, type Login } from '../http/log-in.js'
import type { RunningGateway } from '../http/gateways.js'
import { madeOnce } from '../http/made-once.js'
import { newPage } from './browser.js'
import { buildApp } from './build-app.js'

/** The command that the tests bundle finds the web app in this folder. */
await madeOnce('web', (folder) => buildApp('web', folder))

/** The app of a gateway in its own browser, signed in. */
export async function openWindow(
  gateway: RunningGateway,
  options: BrowserContextOptions = {},
): Promise<Page> {
  const page = await newPage(options)
  const { url } = gateway.ready
  const { cookie, stored } = await signIn(gateway)
  await page.context().addCookies([{ ...cookie, url, httpOnly: true, sameSite: 'Strict' }])
  await page.context().addInitScript(
    ([key, text]) => {
      // A blank page has no storage.
      if (location.protocol === 'http:') localStorage.setItem(key!, text!)
    },
    [LOGIN_STORAGE_KEY, stored],
  )
  await page.goto(url)
  return page
}

/** The code works once, so all windows of a person share its login. */
async function signIn(gateway: RunningGateway): Promise<Login> {
  const known = logins.get(gateway.data)
  if (known) return known
  const login = await logIn(gateway.ready.openUrl)
  logins.set(gateway.data, login)
  return login
}

const logins = new Map<string, Login>()
