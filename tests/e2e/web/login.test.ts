import { once } from 'node:events'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { serve, type RunningGateway } from '../http/gateways.js'
import { ask, command, readInteraction } from './asking.js'
import { goTo, newPage } from './browser.js'
import { otherPort } from './other-port.js'
// Builds the app.
import './window.js'

const SIGNED_OUT = 'You are not signed in'

/** Follows a link from the gateway, as a browser does that `askback open` starts. */
async function follow(gateway: RunningGateway, page: Page, as?: string): Promise<void> {
  const { body } = await gateway.call<{ openUrl: string }>(
    'POST',
    '/api/logins',
    as === undefined ? {} : { as },
  )
  await page.goto(body.openUrl)
}

async function signedIn(gateway: RunningGateway): Promise<Page> {
  const page = await newPage()
  await follow(gateway, page)
  await inbox(page).waitFor()
  return page
}

const inbox = (page: Page) => page.getByRole('link', { name: /Inbox/ })
const signedOut = (page: Page) => page.getByRole('heading', { name: SIGNED_OUT })

async function settings(page: Page, button: string): Promise<void> {
  await page.getByRole('button', { name: 'Settings' }).click()
  await page.getByRole('button', { name: button, exact: true }).click()
}

describe('a server on another port of this host', () => {
  it('receives the cookie of a person who opens its page, and cannot use it', async () => {
    const gateway = await serve()
    const item = await ask(gateway, command)
    const page = await signedIn(gateway)
    const other = await otherPort()
    await page.goto(other.url)
    const cookie = other.cookie()
    // Only that cookie, and nothing else that the login page has received.
    expect(cookie).toMatch(/^askback_\w+=[^;]+$/)
    await expect.poll(() => page.evaluate(() => document.cookie)).toBe('')

    const { url } = gateway.ready
    const path = `/api/sessions/${item.sessionId}`
    const approve = JSON.stringify({ answer: { decision: 'approve' } })
    const calls: [string, string, string?][] = [
      ['GET', '/api/sessions'],
      ['GET', '/api/events'],
      ['GET', `${path}/events`],
      ['GET', '/api/audit'],
      ['POST', `${path}/interactions/${item.interactionId}/response`, approve],
      ['POST', '/api/tokens', JSON.stringify({ person: 'mallory' })],
      ['POST', '/api/logins', '{}'],
      ['POST', '/api/logout', '{"all":true}'],
      ['POST', '/mcp', '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'],
    ]
    for (const origin of [url, undefined]) {
      for (const [method, target, body] of calls) {
        const headers = {
          cookie,
          'content-type': 'application/json',
          ...(origin !== undefined && { origin }),
        }
        const response = await fetch(url + target, { method, headers, ...(body !== undefined && { body }) })
        expect({ target, status: response.status }).toEqual({ target, status: 401 })
      }
    }

    const socket = new WebSocket(`${url.replace('http', 'ws')}/api/ws`, { headers: { cookie, origin: url } })
    const seen: string[] = []
    socket.on('message', (data: Buffer) => seen.push(data.toString()))
    await once(socket, 'open')
    const answer = { decision: 'approve' }
    const { sessionId, interactionId } = item
    socket.send(JSON.stringify({ op: 'respond', ref: 1, sessionId, interactionId, answer }))
    await once(socket, 'close')
    expect(seen).toEqual([])

    // Its page can neither read the app's storage nor send requests with the cookie from the browser.
    const inPage = page.evaluate(async (gatewayUrl) => {
      const called = await fetch(`${gatewayUrl}/api/sessions`, { credentials: 'include' }).then(
        ({ status }) => String(status),
        () => 'refused',
      )
      const opened = await new Promise((resolve) => {
        const made = new window.WebSocket(`${gatewayUrl.replace('http', 'ws')}/api/ws`)
        made.addEventListener('open', () => resolve('open'))
        made.addEventListener('error', () => resolve('refused'))
      })
      return { called, opened, stored: localStorage.getItem('askback.login') }
    }, url)
    await expect(inPage).resolves.toEqual({ called: 'refused', opened: 'refused', stored: null })
    await expect.poll(async () => (await readInteraction(gateway, item)).status).toBe('pending')
    await expect
      .poll(async () => (await gateway.call<{ tokens: unknown[] }>('GET', '/api/tokens')).body.tokens)
      .toHaveLength(1)

    // The person is still signed in.
    await page.goto(`${url}/#/s/${sessionId}`)
    await page.getByText('npm run migrate').first().waitFor()
  })

  it('cannot read what the app stores in its own origin', async () => {
    const gateway = await serve()
    const page = await signedIn(gateway)
    const keys = () => page.evaluate(() => Object.keys(localStorage))
    await expect.poll(keys).toContain('askback.login')
    await page.goto((await otherPort()).url)
    await expect.poll(keys).toEqual([])
  })
})

describe('a link', () => {
  it('signs in, leaves no code in the address, and works after a reload and in other tabs', async () => {
    const gateway = await serve()
    const page = await signedIn(gateway)
    await expect.poll(() => page.url()).toBe(`${gateway.ready.url}/`)
    await page.reload()
    await inbox(page).waitFor()
    const tab = await page.context().newPage()
    await tab.goto(gateway.ready.url)
    await inbox(tab).waitFor()
    await page.goBack()
    await expect.poll(() => page.url()).not.toContain('code')
  })

  it('that was used says what to do, and leads back to the app if the person is signed in', async () => {
    const gateway = await serve()
    const { openUrl } = gateway.ready
    const page = await newPage()
    await page.goto(openUrl)
    await inbox(page).waitFor()
    await page.goto(openUrl)
    await page.getByRole('heading', { name: 'This link no longer works' }).waitFor()
    await page.getByText('askback open').waitFor()
    await page.getByRole('link', { name: 'Continue to Askback' }).click()
    await inbox(page).waitFor()
    const stranger = await newPage()
    await stranger.goto(openUrl)
    await stranger.getByRole('link', { name: 'Continue to Askback' }).click()
    await expect.poll(() => signedOut(stranger).isVisible()).toBe(true)
  })

  it('of another person asks first, and then sends nothing that the first person wrote', async () => {
    const gateway = await serve()
    const page = await signedIn(gateway)
    await page.evaluate(() => localStorage.setItem('askback.outbox.x', 'an answer of the first person'))
    const { body } = await gateway.call<{ token: string }>('POST', '/api/tokens', {
      body: { person: 'grace' },
    })
    await follow(gateway, page, body.token)
    const button = page.getByRole('button', { name: 'Sign in as grace' })
    await button.waitFor()
    await expect.poll(() => page.url()).toBe(`${gateway.ready.url}/login`)
    // Keys that were typed ahead do not confirm it.
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('BODY')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await inbox(page).waitFor()
    await expect.poll(() => page.evaluate(() => localStorage.getItem('askback.outbox.x'))).toBeNull()
    await page.getByRole('button', { name: 'Settings' }).click()
    await page.getByText('You are signed in as grace.').waitFor()
  })

  it('says what to do if the browser blocks storage, and stays unused', async () => {
    const gateway = await serve()
    const blocked = await newPage()
    await blocked.addInitScript(() => {
      Object.defineProperty(window, 'localStorage', {
        get() {
          throw new DOMException('Access is denied for this document.', 'SecurityError')
        },
      })
    })
    await blocked.goto(gateway.ready.openUrl)
    await blocked.getByRole('heading', { name: 'This browser blocks storage' }).waitFor()
    await blocked.goto(gateway.ready.url)
    await signedOut(blocked).waitFor()
    await blocked.getByText('Allow cookies and site data').waitFor()
    const page = await newPage()
    await page.goto(gateway.ready.openUrl)
    await expect.poll(() => inbox(page).isVisible()).toBe(true)
  })
})

describe('signing out', () => {
  it('affects the other tabs of this browser, and no other browser', async () => {
    const gateway = await serve()
    const page = await signedIn(gateway)
    const elsewhere = await signedIn(gateway)
    const tab = await page.context().newPage()
    await tab.goto(gateway.ready.url)
    await inbox(tab).waitFor()
    await settings(page, 'Sign out')
    await signedOut(page).waitFor()
    await signedOut(tab).waitFor()
    await expect.poll(() => page.evaluate(() => localStorage.getItem('askback.login'))).toBeNull()
    await elsewhere.reload()
    await inbox(elsewhere).waitFor()

    // Signing in again in one tab also signs in the other.
    await follow(gateway, page)
    await inbox(page).waitFor()
    await inbox(tab).waitFor()
  })

  it('of all browsers signs each one out, without a reload', async () => {
    const gateway = await serve()
    const [page, elsewhere] = [await signedIn(gateway), await signedIn(gateway)]
    await settings(page, 'Sign out of all browsers')
    await signedOut(page).waitFor()
    await expect.poll(() => signedOut(elsewhere).isVisible()).toBe(true)
  })

  it('says so if the gateway does not answer', async () => {
    const gateway = await serve()
    const page = await signedIn(gateway)
    await page.route('**/api/logout', (route) => route.abort())
    await settings(page, 'Sign out')
    await expect.poll(() => page.getByText('You are still signed in').isVisible()).toBe(true)
  })
})

it('a page whose storage was cleared is signed out, cookie or not', async () => {
  const gateway = await serve()
  const page = await signedIn(gateway)
  await page.evaluate(() => localStorage.clear())
  await page.reload()
  await signedOut(page).waitFor()
  await goTo(page, '#/new')
  await expect.poll(() => signedOut(page).isVisible()).toBe(true)
})
