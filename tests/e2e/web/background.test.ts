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

/** As a page in a tab behind others: it is not seen, and has no frames. */
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

describe('a window that nobody looks at', () => {
  it('tells of what begins to wait, and leads there', async () => {
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

  it('counts and tells of more than one page', async () => {
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

  it('takes back what it told when that waits no more', async () => {
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

  it('is told of nothing that it can see', async () => {
    const gateway = await serve()
    const page = await openWindow(gateway)
    await recordNotifications(page)
    await isReady(page)
    await ask(gateway, database)
    // The same effects would have told of it.
    await expect.poll(() => page.title()).toBe('(1) Askback')
    await expect.poll(() => notifications(page)).toEqual([])
  })

  it('tells through a service worker where a page may not, as on most phones', async () => {
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
      Object.assign(window, { told: 0 })
      prototype.showNotification = async function (this: ServiceWorkerRegistration, ...args) {
        await showNotification.apply(this, args)
        ;(window as unknown as { told: number }).told++
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
    const told = () => page.evaluate(() => (window as unknown as { told: number }).told)
    // Not before it was told: a look at the same time makes Chromium forget it.
    const shown = () =>
      page.evaluate(async () => {
        const worker = await navigator.serviceWorker.getRegistration()
        return (await worker?.getNotifications())?.map(({ title }) => title) ?? []
      })
    await expect.poll(told).toBe(1)
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
    await expect.poll(told).toBe(2)
    await expect.poll(shown).toEqual([asks.title])
    await gateway.call('DELETE', `/api/sessions/${second.sessionId}/interactions/${second.interactionId}`)
    await expect.poll(shown).toEqual([])
  })
})

describe('a page that is not painted', () => {
  it('starts in a tab behind others, and follows what happens there', async () => {
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

  it('starts without a paint that is told of, too', async () => {
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

it('what colours code is started before there is any', async () => {
  const page = await openWindow(await serve())
  await page.getByRole('button', { name: 'Take the tour' }).waitFor()
  await expect
    .poll(() => page.workers().map((worker) => worker.url()))
    .toEqual([expect.stringContaining('highlight-worker')])
})
