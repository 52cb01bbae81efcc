import { createDesk } from '@askback/core'
import { sqliteStore } from '@askback/store-sqlite'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { newFolder } from '../http/command.js'
import { serve } from '../http/gateways.js'
import { ask, command, database, readInteraction } from './asking.js'
import { goTo, settle } from './browser.js'
import { openWindow } from './window.js'

const MAX_TABS = 60

/** Moves the focus with the Tab key. Every focused element on the way must have a visible outline. */
async function tabTo(page: Page, wanted: Locator): Promise<void> {
  for (let tabs = 0; tabs < MAX_TABS; tabs++) {
    if (await wanted.evaluate((element) => element === document.activeElement)) return
    await page.keyboard.press('Tab')
    await expect.poll(() => page.evaluate(isFocusSeen)).toBe(true)
  }
  throw new Error('The Tab key does not reach the element.')
}

/** Runs in the page: whether the focused element, or one around it, has an outline. */
function isFocusSeen(): boolean {
  let element = document.activeElement
  if (!element || element === document.body) return true
  for (let steps = 0; element && steps < 3; steps++, element = element.parentElement) {
    const { outlineStyle, outlineWidth } = getComputedStyle(element)
    if (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1) return true
  }
  return false
}

async function nextCard(page: Page, kind: string): Promise<void> {
  const card = page.locator(`.ab-card[data-kind=${kind}]:not([data-phase=settled])`)
  await card.waitFor()
  await page.keyboard.press('j')
  await card.and(page.locator(':focus')).waitFor()
}

/** Controls are disabled until they have been on the screen for a moment. */
async function whenArmed(page: Page, name: string): Promise<Locator> {
  const button = page.getByRole('button', { name, exact: true })
  await expect.poll(() => button.isEnabled()).toBe(true)
  return button
}

it('the whole tour can be taken with the keyboard alone', async () => {
  const page = await openWindow(await serve())
  const start = page.getByRole('button', { name: 'Take the tour' })
  await start.waitFor()
  await tabTo(page, start)
  await page.keyboard.press('Enter')

  await nextCard(page, 'question')
  await page.keyboard.press('1')
  await whenArmed(page, 'Submit')
  await page.keyboard.press('Enter')
  await page.getByText('PostgreSQL it is.').waitFor()

  await nextCard(page, 'question')
  await tabTo(page, page.getByRole('checkbox', { name: /Search, by name/ }))
  await page.keyboard.press('Space')
  await whenArmed(page, 'Next')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  await tabTo(page, page.getByRole('radio').first())
  await page.keyboard.press('ArrowDown')
  await expect.poll(() => page.getByRole('radio').nth(1).isChecked()).toBe(true)
  await whenArmed(page, 'Submit')
  await page.keyboard.press('Enter')

  await nextCard(page, 'approval')
  await whenArmed(page, 'Approve once')
  await page.keyboard.press('a')
  await page.getByText('Done. Next, one file needs a change.').waitFor()
  await nextCard(page, 'approval')
  await whenArmed(page, 'Approve once')
  await page.keyboard.press('a')
  await nextCard(page, 'plan_review')
  await tabTo(page, await whenArmed(page, 'Proceed'))
  await page.keyboard.press('Enter')
  await page.getByText('That was the tour.').waitFor()
})

it('the keyboard is enough for the inbox, a denial with a reason, and every page', async () => {
  const gateway = await serve()
  const [question, approval] = [await ask(gateway, database), await ask(gateway, command)]
  const page = await openWindow(gateway)
  await page.locator('.ab-card').first().waitFor()
  await page.keyboard.press('n')
  await page.getByLabel('Message').and(page.locator(':focus')).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('i')
  await nextCard(page, 'question')
  await page.keyboard.press('2')
  await page.keyboard.press('j')
  await page.keyboard.press('k')
  await whenArmed(page, 'Submit')
  await page.keyboard.press('Enter')
  await expect
    .poll(async () => (await readInteraction(gateway, question)).answer)
    .toEqual({ answers: [{ selected: ['Postgres'] }] })

  await nextCard(page, 'approval')
  await whenArmed(page, 'Deny')
  await page.keyboard.press('Shift+D')
  await page.locator('textarea:focus').waitFor()
  await page.keyboard.type('Not today.')
  await page.keyboard.press('Enter')
  await expect
    .poll(async () => (await readInteraction(gateway, approval)).answer)
    .toEqual({ decision: 'deny', message: 'Not today.' })
})

it('a question mark shows the list of keys, and Escape closes it', async () => {
  const page = await openWindow(await serve())
  await page.getByRole('button', { name: 'Take the tour' }).waitFor()
  await page.keyboard.press('?')
  const help = page.getByRole('dialog', { name: 'Keyboard' })
  await help.waitFor()
  for (const key of ['1 – 9', '↑ ↓', 'Space', 'Enter', 'A / D', 'J / K', 'Esc'])
    await help.getByText(key, { exact: true }).waitFor()
  await page.keyboard.press('Escape')
  await expect.poll(() => help.count()).toBe(0)
})

it('keys that are typed into a text field are text', async () => {
  const gateway = await serve()
  const { sessionId } = await ask(gateway, command)
  const page = await openWindow(gateway)
  await goTo(page, `#/s/${sessionId}`)
  const field = page.getByLabel(/^Reply to/)
  await field.click()
  await page.keyboard.type('n?jad1')
  await expect.poll(() => field.inputValue()).toBe('n?jad1')
  await expect.poll(() => page.url()).toContain(sessionId)
})

it('nothing is animated for people who prefer reduced motion', async () => {
  const { data, sessionId } = await sessionAtWork()
  const gateway = await serve({ data })
  const page = await openWindow(gateway, { reducedMotion: 'reduce' })
  const moving = await recordMotion(page)
  await goTo(page, `#/s/${sessionId}`)
  await page.getByLabel('The agent is working').waitFor()
  await page.getByRole('img', { name: 'running' }).waitFor()
  await expect.poll(moving).toEqual([])
  await ask(gateway, database, sessionId)
  await page.getByRole('radio', { name: /Postgres/ }).click()
  await expect.poll(moving).toEqual([])
  await settle(page.locator('.ab-card'), 'Submit')
  await expect.poll(moving).toEqual([])
})

/** Records animations from now on, also very short ones. The returned function lists them. */
async function recordMotion(page: Page): Promise<() => Promise<string[]>> {
  const began = await page.evaluateHandle(() => {
    const names: string[] = []
    for (const type of ['animationstart', 'transitionrun'])
      document.addEventListener(type, ({ target }) => names.push(`${type} ${(target as Element).className}`))
    return names
  })
  return () =>
    began.evaluate((names) => [
      ...names,
      ...document.getAnimations().map(({ id, playState }) => `${id} ${playState}`),
    ])
}

/** A session in the middle of a turn, which continues until the test ends. */
async function sessionAtWork(): Promise<{ data: string; sessionId: string }> {
  const data = newFolder()
  const store = sqliteStore({ path: join(data, 'askback.db') })
  const desk = createDesk({ store })
  const { session } = await desk.createSession({ agent: null })
  await desk.report({ sessionId: session.id, events: [{ type: 'turn_started', turnId: 't1' }] })
  desk.close()
  await store.close()
  return { data, sessionId: session.id }
}
