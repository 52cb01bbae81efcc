import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { serve } from '../http/gateways.js'
import { ask, database } from './asking.js'
import { openWindow } from './window.js'

interface Shown {
  title: string
  click: () => void
  isClosed: boolean
}

/** Makes the page behave as in a background tab: it is hidden, and has no animation frames. */
async function hide(page: Page): Promise<void> {
  await page.addInitScript(() => {
    Object.defineProperty(document, 'hidden', { get: () => true })
    Object.assign(window, { requestAnimationFrame: () => 0 })
  })
}

async function recordNotifications(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const shown: Shown[] = []
    Object.assign(window, {
      shown,
      Notification: class extends EventTarget {
        static permission = 'granted'
        readonly record: Shown
        constructor(title: string) {
          super()
          this.record = { title, click: () => this.dispatchEvent(new Event('click')), isClosed: false }
          shown.push(this.record)
        }
        close() {
          this.record.isClosed = true
        }
      },
    })
  })
}

function notifications(page: Page): Promise<Pick<Shown, 'title' | 'isClosed'>[]> {
  return page.evaluate(() =>
    (window as unknown as { shown: Shown[] }).shown.map(({ title, isClosed }) => ({ title, isClosed })),
  )
}

async function isReady(page: Page): Promise<void> {
  await page.reload()
  await page.getByRole('button', { name: 'Take the tour' }).waitFor()
  await expect.poll(() => page.locator('nav').textContent()).toContain('None yet.')
}

const asks = { title: 'An agent has a question', isClosed: false }

describe('a hidden window', () => {
  it('shows a notification for each new request, which opens the request', async () => {
    const gateway = await serve()
    const page = await openWindow(gateway)
    await hide(page)
    await recordNotifications(page)
    await isReady(page)
    const { sessionId } = await ask(gateway, database)
    await expect.poll(() => notifications(page)).toEqual([asks])
    await page.evaluate(() => (window as unknown as { shown: Shown[] }).shown[0]!.click())
    await expect.poll(() => page.url()).toContain(sessionId)
  })

  it('counts and notifies also if there is more than one page of requests', async () => {
    const gateway = await serve()
    const sessionId = await gateway.session()
    for (let index = 0; index < 105; index++)
      await ask(gateway, { ...database, toolCallId: `call-${index}` }, sessionId)
    const page = await openWindow(gateway)
    await hide(page)
    await recordNotifications(page)
    await page.reload()
    await expect.poll(() => page.title()).toBe('(105) Askback')
    const other = await ask(gateway, database)
    await expect.poll(() => notifications(page)).toEqual([asks])
    await expect.poll(() => page.title()).toBe('(106) Askback')
    const counts = page.getByRole('navigation').locator('.tabular-nums')
    await expect.poll(() => counts.allTextContents()).toEqual(['106', '1', '105'])
    await gateway.call('DELETE', `/api/sessions/${other.sessionId}/interactions/${other.interactionId}`)
    await expect.poll(() => notifications(page)).toEqual([{ ...asks, isClosed: true }])
    await expect.poll(() => page.title()).toBe('(105) Askback')
  })

  it('closes the notification of a request that is no longer pending', async () => {
    const gateway = await serve()
    const page = await openWindow(gateway)
    await hide(page)
    await recordNotifications(page)
    await isReady(page)
    const { sessionId, interactionId } = await ask(gateway, database)
    await expect.poll(() => notifications(page)).toEqual([asks])
    await gateway.call('DELETE', `/api/sessions/${sessionId}/interactions/${interactionId}`)
    await expect.poll(() => notifications(page)).toEqual([{ ...asks, isClosed: true }])
  })

  it('shows no notification while it is visible', async () => {
    const gateway = await serve()
    const page = await openWindow(gateway)
    await recordNotifications(page)
    await isReady(page)
    await ask(gateway, database)
    // The title changes at the same time as a notification would be shown.
    await expect.poll(() => page.title()).toBe('(1) Askback')
    await expect.poll(() => notifications(page)).toEqual([])
  })

  it('notifies through a service worker if a page may not, as on most phones', async () => {
    const gateway = await serve()
    const page = await openWindow(gateway)
    const { url } = gateway.ready
    await page.context().grantPermissions(['notifications'], { origin: url })
    await hide(page)
    await page.addInitScript(() => {
      const { Notification: real } = window
      const { prototype } = ServiceWorkerRegistration
      // oxlint-disable-next-line typescript/unbound-method -- called with the registration that it is meant for
      const { showNotification } = prototype
      Object.assign(window, { notificationCount: 0 })
      prototype.showNotification = async function (this: ServiceWorkerRegistration, ...args) {
        await showNotification.apply(this, args)
        ;(window as unknown as { notificationCount: number }).notificationCount++
      }
      Object.assign(window, {
        Notification: class {
          static permission = real.permission
          constructor() {
            throw new TypeError(
              'Illegal constructor. Use ServiceWorkerRegistration.showNotification() instead.',
            )
          }
        },
      })
    })
    await isReady(page)
    const { sessionId } = await ask(gateway, database)
    const notificationCount = () =>
      page.evaluate(() => (window as unknown as { notificationCount: number }).notificationCount)
    // Not before the notification was shown: reading the list at the same time makes Chromium lose it.
    const shown = () =>
      page.evaluate(async () => {
        const worker = await navigator.serviceWorker.getRegistration()
        return (await worker?.getNotifications())?.map(({ title }) => title) ?? []
      })
    await expect.poll(notificationCount).toBe(1)
    await expect.poll(shown).toEqual([asks.title])

    const workers = () => page.context().serviceWorkers()
    await expect.poll(() => workers().length).toBe(1)
    await workers()[0]!.evaluate(async () => {
      const scope = self as unknown as { registration: ServiceWorkerRegistration } & EventTarget
      const [notification] = await scope.registration.getNotifications()
      scope.dispatchEvent(
        Object.assign(new Event('notificationclick'), { notification, waitUntil: () => undefined }),
      )
    })
    await expect.poll(() => page.url()).toContain(sessionId)
    await expect.poll(shown).toEqual([])

    const second = await ask(gateway, database)
    await expect.poll(notificationCount).toBe(2)
    await expect.poll(shown).toEqual([asks.title])
    await gateway.call('DELETE', `/api/sessions/${second.sessionId}/interactions/${second.interactionId}`)
    await expect.poll(shown).toEqual([])
  })
})

describe('a page that is not painted', () => {
  it('starts in a background tab, and follows the session there', async () => {
    const gateway = await serve()
    const page = await openWindow(gateway)
    await hide(page)
    await page.addInitScript(() =>
      Object.assign(window, {
        PerformanceObserver: class {
          observe() {}
        },
      }),
    )
    await page.reload()
    await page.getByRole('button', { name: 'Take the tour' }).waitFor()
    await ask(gateway, database)
    await expect.poll(() => page.title()).toBe('(1) Askback')
    await expect.poll(() => page.locator('.ab-card').count()).toBe(1)
  })

  it('starts also if the browser reports no paint', async () => {
    const page = await openWindow(await serve())
    await page.addInitScript(() =>
      Object.assign(window, {
        PerformanceObserver: class {
          observe() {}
        },
      }),
    )
    await page.reload()
    await expect.poll(() => page.getByRole('button', { name: 'Take the tour' }).count()).toBe(1)
  })
})

it('the worker that highlights code is started before there is any code', async () => {
  const page = await openWindow(await serve())
  await page.getByRole('button', { name: 'Take the tour' }).waitFor()
  await expect
    .poll(() => page.workers().map((worker) => worker.url()))
    .toEqual([expect.stringContaining('highlight-worker')])
})
