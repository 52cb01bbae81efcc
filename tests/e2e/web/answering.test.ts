import type { Locator } from 'playwright-core'
import { expect, it } from 'vitest'
import { serve } from '../http/gateways.js'
import { ask, readInteraction } from './asking.js'
import { goTo, pressUntil } from './browser.js'
import { openWindow } from './window.js'

const twoQuestions = {
  kind: 'question',
  request: {
    questions: [
      {
        header: 'A very long header text',
        question: 'Who reviews?',
        options: [{ label: 'Alice' }, { label: 'Bob' }],
      },
      { header: 'Day', question: 'Which day?', options: [] },
    ],
  },
}

it('a text in the composer answers the question that the card shows', async () => {
  const gateway = await serve()
  const item = await ask(gateway, twoQuestions)
  const page = await openWindow(gateway)
  await goTo(page, `#/s/${item.sessionId}`)
  await page.getByRole('radio', { name: /Bob/ }).click()
  await page.getByText('A very long…').waitFor()
  const second = page.getByText('Your reply is the answer to question 2 of 2.')
  await pressUntil(page.getByRole('button', { name: 'Next' }), () => second.isVisible())
  await page.locator('form textarea').last().fill('Friday')
  await page.keyboard.press('Enter')
  await expect
    .poll(async () => (await readInteraction(gateway, item)).answer)
    .toEqual({ answers: [{ selected: ['Bob'] }, { selected: [], other: 'Friday' }] })
})

it('a form that the gateway refuses moves the focus to the field to correct', async () => {
  const gateway = await serve()
  const fields = [
    { name: 'name', type: 'text', label: 'Name' },
    { name: 'version', type: 'text', label: 'Version', pattern: '^\\d+$', maxLength: 9 },
  ]
  const item = await ask(gateway, { kind: 'form', request: { message: 'Release', schema: { fields } } })
  const page = await openWindow(gateway)
  await goTo(page, `#/s/${item.sessionId}`)
  await page.getByLabel('Version').fill('two')
  await expect.poll(() => page.getByRole('button', { name: 'Submit' }).isEnabled()).toBe(true)
  await page.getByLabel('Version').press('Enter')
  await page.locator('.ab-field[data-wrong]').waitFor()
  await expect
    .poll(() => page.getByLabel('Version').evaluate((field) => field === document.activeElement))
    .toBe(true)
})

it('“N” opens the form for a new session, and an outside session has no context to clear', async () => {
  const gateway = await serve()
  const item = await ask(gateway, twoQuestions)
  const page = await openWindow(gateway)
  await goTo(page, `#/s/${item.sessionId}`)
  await page.getByRole('button', { name: 'More' }).click()
  const menuItem = page.getByRole('menuitem', { name: 'Delete session' })
  await menuItem.waitFor()
  await expect.poll(() => page.getByRole('menuitem', { name: /Clear/ }).count()).toBe(0)
  await page.keyboard.press('Escape')
  await menuItem.waitFor({ state: 'detached' })
  await page.keyboard.press('n')
  const message = page.getByLabel('Message')
  await message.waitFor()
  await expect.poll(() => message.evaluate((field) => field === document.activeElement)).toBe(true)
  await expect.poll(() => message.inputValue()).toBe('')
})

it('on a phone “Submit” is as wide as the field above it', async () => {
  const gateway = await serve()
  const questions = [{ question: 'Who reviews?', options: [] }]
  const item = await ask(gateway, { kind: 'question', request: { questions } })
  const page = await openWindow(gateway, { viewport: { width: 375, height: 740 } })
  await goTo(page, `#/s/${item.sessionId}`)
  const rightOf = (element: Locator) => element.evaluate((box) => box.getBoundingClientRect().right)
  const submit = page.getByRole('button', { name: 'Submit' })
  const field = page.getByLabel('Your answer')
  await expect.poll(async () => (await rightOf(submit)) - (await rightOf(field))).toBeCloseTo(0, 0)
})
