import { describe, expect, it } from 'vitest'
import { portToKeep, serve } from '../http/gateways.js'
import { ask, command, database, readInteraction } from './asking.js'
import { goTo, pressUntil } from './browser.js'
import { openWindow } from './window.js'

const notice = 'The gateway can’t be reached.'

describe('a browser that goes offline', () => {
  it('says so, and sends the answers when it is online again', async () => {
    const gateway = await serve()
    const item = await ask(gateway, database)
    const page = await openWindow(gateway)
    await goTo(page, `#/s/${item.sessionId}`)
    await page.getByRole('radio', { name: /Postgres/ }).waitFor()
    await page.context().setOffline(true)
    await page.getByText(notice).waitFor()
    await expect.poll(() => page.getByText(/be reached/).count()).toBe(1)
    await page.getByRole('radio', { name: /Postgres/ }).click()
    const queued = page.getByText(/Askback keeps your answer and/)
    await pressUntil(page.getByRole('button', { name: 'Submit' }), () => queued.isVisible())
    await expect.poll(async () => (await readInteraction(gateway, item)).status).toBe('pending')

    await page.context().setOffline(false)
    await expect
      .poll(async () => (await readInteraction(gateway, item)).answer)
      .toEqual({ answers: [{ selected: ['Postgres'] }] })
    await page.getByText(/Selected:/).waitFor()
    await expect.poll(() => page.getByText(notice).count()).toBe(0)
  })

  it('stores a message that could not be sent', async () => {
    const gateway = await serve()
    const sessionId = await gateway.session()
    const page = await openWindow(gateway)
    await goTo(page, `#/s/${sessionId}`)
    const message = page.getByLabel('Note for the log')
    // The field is shown before the session is loaded, and sends nothing until then.
    await page.getByRole('button', { name: /^Permission mode/ }).waitFor()
    await page.context().setOffline(true)
    await page.getByText(notice).first().waitFor()
    await message.fill('Use the second port.')
    await message.press('Enter')
    await page.locator('form [role=alert]').waitFor()
    await expect.poll(() => message.inputValue()).toBe('Use the second port.')

    await page.context().setOffline(false)
    await expect.poll(() => page.getByText(notice).count()).toBe(0)
    await message.press('Enter')
    await page.locator('.ab-timeline').getByText('Use the second port.').waitFor()
    await expect.poll(() => message.inputValue()).toBe('')
  })
})

it('answers of two windows are both sent, although both were closed while the gateway was down', async () => {
  const port = await portToKeep()
  const before = await serve({ port })
  const approved = await ask(before, command)
  const denied = await ask(before, { ...command, toolCallId: 'call-9' }, approved.sessionId)
  const one = await openWindow(before)
  const other = await one.context().newPage()
  await other.goto(before.ready.url)
  for (const page of [one, other]) {
    await goTo(page, `#/s/${approved.sessionId}`)
    await page.getByRole('button', { name: 'Approve once' }).nth(1).waitFor()
  }
  await before.stop('SIGKILL')
  for (const [page, { interactionId }, name] of [
    [one, approved, 'Approve once'],
    [other, denied, 'Deny'],
  ] as const) {
    await page.getByText(notice).first().waitFor()
    const card = page.locator(`[data-interaction="${interactionId}"]`)
    // A request that is not fully visible cannot be approved.
    await card.scrollIntoViewIfNeeded()
    const queued = card.getByText(/Askback keeps your answer and/)
    await pressUntil(card.getByRole('button', { name, exact: true }), () => queued.isVisible())
  }
  await other.close()
  await one.goto('about:blank')

  const after = await serve({ data: before.data, port })
  await one.goto(after.ready.url)
  await expect.poll(async () => (await readInteraction(after, approved)).settlement).toBe('approved')
  await expect.poll(async () => (await readInteraction(after, denied)).settlement).toBe('denied')
})
