import type { Session } from '@askback/protocol'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newFolder } from '../http/command.js'
import { serve } from '../http/gateways.js'
import { goTo } from './browser.js'
import { openWindow } from './window.js'

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }

describe('the folder of a new session', () => {
  it.each([
    ['a desktop', {}],
    ['a phone', PHONE],
  ])('that does not exist is shown before Start, on %s', async (_, options) => {
    const gateway = await serve()
    const page = await openWindow(gateway, options)
    const missing = join(newFolder(), 'shpo')
    await goTo(page, '#/new')
    const field = page.getByRole('textbox', { name: /Folder/ })
    await field.fill(missing)
    await page.getByLabel('Message').focus()
    const alert = page.getByRole('alert').filter({ hasText: `The folder ${missing} does not exist.` })
    await alert.waitFor()
    await expect.poll(() => field.getAttribute('aria-invalid')).toBe('true')
    const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    await expect.poll(overflow).toBeLessThanOrEqual(0)
    // A person who starts it anyway reads the same sentence, once.
    const refused = page.waitForResponse(
      (response) => response.request().method() === 'POST' && response.status() === 400,
    )
    await page.getByRole('button', { name: 'Start' }).click()
    await refused
    await expect.poll(() => page.getByText('does not exist').count()).toBe(1)
    // The message goes away with the first change.
    await field.fill(`${missing}s`)
    await alert.waitFor({ state: 'detached' })
  })

  it('may begin with ~', async () => {
    const home = newFolder()
    mkdirSync(join(home, 'shop'))
    const gateway = await serve({ env: { HOME: home } })
    const page = await openWindow(gateway)
    await goTo(page, '#/new')
    await page.getByRole('textbox', { name: /Folder/ }).fill('~/shop')
    await page.getByRole('button', { name: 'Start' }).click()
    await page.waitForURL(/#\/s\//)
    const { body } = await gateway.call<{ sessions: Session[] }>('GET', '/api/sessions')
    expect(body.sessions).toMatchObject([{ cwd: join(home, 'shop') }])
  })
})
