import { describe, expect, it } from 'vitest'
import { serve } from '../http/gateways.js'
import { ask, command, database, plan, readInteraction } from './asking.js'
import { goTo } from './browser.js'
import { openWindow } from './window.js'

it('the first load is less than 250 KB', async () => {
  const { url } = (await serve()).ready
  const page = await fetch(url)
  const html = await page.text()
  // A browser loads a file once, even if the page names it several times.
  const named = [...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path!)
  const files = [...new Set(named)]
  expect(files.some((file) => file.endsWith('.js'))).toBe(true)
  const answers = [page, ...(await Promise.all(files.map((file) => fetch(url + file))))]
  const sizes = answers.map(({ headers }) => Number(headers.get('content-length')))
  expect(sizes.every((size) => size > 0)).toBe(true)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(250_000)
})

it('highlights code, under the content security policy of the gateway', async () => {
  const gateway = await serve()
  const { sessionId } = await ask(gateway, plan)
  const page = await openWindow(gateway)
  await goTo(page, `#/s/${sessionId}`)
  await expect.poll(() => page.locator('.ab-token').count()).toBeGreaterThan(3)
})

it('offers every agent that the gateway knows, and says what is missing', async () => {
  const gateway = await serve({ env: { PATH: '' } })
  const page = await openWindow(gateway)
  const { body } = await gateway.call<{ agents: { name: string; available: boolean; reason?: string }[] }>(
    'GET',
    '/api/agents',
  )
  await goTo(page, '#/new')
  await page.getByRole('radio', { name: /Demo/ }).waitFor()
  await expect.poll(() => page.getByRole('radio').count()).toBe(body.agents.length)
  for (const { name, available, reason } of body.agents) {
    const row = page.locator('label').filter({ has: page.getByText(name, { exact: true }) })
    await expect.poll(() => row.getByRole('radio').isEnabled()).toBe(available)
    if (reason) await expect.poll(() => row.textContent()).toContain(reason)
  }
})

it('asks once for permission to notify, when the first request is pending', async () => {
  const gateway = await serve()
  const page = await openWindow(gateway)
  await page.addInitScript(() => {
    const asked = { times: 0 }
    const requestPermission = async () => {
      asked.times += 1
      return 'denied'
    }
    Object.assign(window, { asked, Notification: { permission: 'default', requestPermission } })
  })
  const times = () => page.evaluate(() => (window as unknown as { asked: { times: number } }).asked.times)
  const offer = page.getByRole('button', { name: 'Turn on', exact: true })
  await page.reload()
  await page.getByRole('button', { name: 'Take the tour' }).waitFor()
  await expect.poll(async () => [await offer.count(), await times()]).toEqual([0, 0])
  await ask(gateway, database)
  await offer.waitFor()
  await expect.poll(times).toBe(0)
  await offer.click()
  await expect.poll(() => offer.count()).toBe(0)
  await expect.poll(times).toBe(1)
  await page.reload()
  // The question would appear together with the count.
  await expect.poll(() => page.title()).toBe('(1) Askback')
  await expect.poll(() => offer.count()).toBe(0)
})

describe('an approval', () => {
  it('ignores a key that was held down, and accepts A once its controls are enabled', async () => {
    const gateway = await serve()
    const item = await ask(gateway, command)
    const page = await openWindow(gateway)
    await goTo(page, `#/s/${item.sessionId}`)
    await page.getByRole('button', { name: 'Approve once' }).waitFor()
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).not.toBe('Approve once')
    await page.locator('.ab-card').focus()
    await expect.poll(() => page.getByRole('button', { name: 'Approve once' }).isEnabled()).toBe(true)
    await page.locator('.ab-card').evaluate((card) => {
      card.dispatchEvent(new KeyboardEvent('keydown', { key: 'a', repeat: true, bubbles: true }))
    })
    await expect.poll(() => page.locator('.ab-card').getAttribute('data-phase')).toBe('pending')
    await expect.poll(async () => (await readInteraction(gateway, item)).status).toBe('pending')
    await page.keyboard.press('a')
    await expect.poll(async () => (await readInteraction(gateway, item)).settlement).toBe('approved')
  })

  it('that is answered elsewhere says so in the inbox before it disappears', async () => {
    const gateway = await serve()
    const item = await ask(gateway, command)
    const page = await openWindow(gateway)
    await page.clock.install()
    await page.reload()
    await goTo(page, '#/inbox')
    await page.getByRole('button', { name: 'Approve once' }).waitFor()
    // From here on the fake time advances with each check.
    await page.clock.pauseAt(Date.now() + 10_000)
    const later = async <Seen>(look: () => Promise<Seen>) => (await page.clock.runFor(50), look())
    await gateway.call(
      'POST',
      `/api/sessions/${item.sessionId}/interactions/${item.interactionId}/response`,
      { body: { answer: { decision: 'deny', message: 'not today' } } },
    )
    await expect.poll(() => later(() => page.getByText(/Denied/).count())).toBe(1)
    await expect.poll(() => later(() => page.title())).toBe('Askback')
    await expect.poll(() => page.locator('.ab-inbox-item').count()).toBe(1)
    await page.clock.runFor(5000)
    await expect.poll(() => later(() => page.locator('.ab-inbox-item').count())).toBe(0)
  })
})
