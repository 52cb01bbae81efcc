import { describe, expect, it } from 'vitest'
import { serve } from '../http/gateways.js'
import { ask, readInteraction } from './asking.js'
import { goTo, settle } from './browser.js'
import { openWindow } from './window.js'

describe('a form in a browser', () => {
  it('keeps long words of an agent inside the card of a phone', async () => {
    const gateway = await serve()
    const long = 'withoutanyplacetobreak'.repeat(8)
    const options = Array.from({ length: 9 }, (_, index) => ({ value: `${index}${long}` }))
    const fields = [
      { name: long, type: 'text', description: `https://example.com/${long}` },
      { name: 'pick', type: 'multiselect', options },
    ]
    const item = await ask(gateway, {
      kind: 'form',
      request: {
        message: 'A form',
        schema: { sections: [{ title: long, fields }] },
        initialValues: { pick: [`0${long}`] },
      },
    })
    const page = await openWindow(gateway, { viewport: { width: 390, height: 844 } })
    await goTo(page, `#/s/${item.sessionId}`)
    await page.getByRole('searchbox').waitFor()
    const cutOff = () =>
      page.locator('.ab-card').evaluate((card) => {
        const { right } = card.getBoundingClientRect()
        return [...card.querySelectorAll('.ab-form *')]
          .filter((element) => element.getBoundingClientRect().right > right)
          .map((element) => element.className)
      })
    await expect.poll(cutOff).toEqual([])
  })

  it('shows every value that it sends, also values that no control of the browser can show', async () => {
    const gateway = await serve()
    const initialValues = {
      zoned: '2026-02-28T09:30:00Z',
      local: '2026-02-28T09:30:15',
      exact: '09:30:00.1234',
      line: 'one\ntwo',
    }
    const item = await ask(gateway, {
      kind: 'form',
      request: {
        message: 'A form',
        schema: {
          fields: [
            { name: 'zoned', type: 'datetime' },
            { name: 'local', type: 'datetime' },
            { name: 'exact', type: 'time' },
            { name: 'line', type: 'text' },
          ],
        },
        initialValues,
      },
    })
    const page = await openWindow(gateway)
    await goTo(page, `#/s/${item.sessionId}`)
    for (const [name, value] of Object.entries(initialValues)) {
      await expect.poll(() => page.getByLabel(name).inputValue()).toBe(value)
    }
    await settle(page.locator('.ab-card'), 'Submit')
    await expect
      .poll(async () => (await readInteraction(gateway, item)).answer)
      .toEqual({ values: initialValues })
  })
})
