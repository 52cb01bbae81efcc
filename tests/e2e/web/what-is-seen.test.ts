import { createDesk } from '@askback/core'
import { sqliteStore } from '@askback/store-sqlite'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { newFolder } from '../http/command.js'
import { serve } from '../http/gateways.js'
import { ask, command, readInteraction } from './asking.js'
import { goTo, settle } from './browser.js'
import { openWindow } from './window.js'

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true }
const evil = 'https://evil.example/collect?everything'

describe('on a phone, no part of a request is outside the screen', () => {
  it.each<[string, 'whole' | 'folded', string, unknown]>([
    [
      'a value after a long name',
      'whole',
      'deploy',
      { AWS_BEDROCK_RUNTIME_ENDPOINT_OVERRIDE_URL_EU_CENTRAL_1: evil },
    ],
    ['a value deep in a tree', 'whole', 'deploy', nested(evil, 7)],
    ['a value deeper than trees are drawn', 'folded', 'deploy', nested(evil, 40)],
    ['a long name of a branch', 'whole', 'deploy', { [`${evil}${'x'.repeat(200)}`]: { a: 1 } }],
    [
      'a long path',
      'whole',
      'Edit',
      { file_path: `/${'folder'.repeat(60)}/${evil}`, old_string: 'a', new_string: 'b' },
    ],
    [
      'a long path in a patch',
      'whole',
      'apply_patch',
      { changes: [{ path: `/${'folder'.repeat(60)}/${evil}`, kind: { type: 'delete' }, diff: 'x' }] },
    ],
  ])('%s', async (_what, length, toolName, input) => {
    const gateway = await serve()
    const item = await ask(gateway, { kind: 'approval', toolName, toolCallId: 'call-1', request: { input } })
    const page = await openWindow(gateway, phone)
    await goTo(page, `#/s/${item.sessionId}`)
    await page.locator('.ab-code-scroll').waitFor()
    if (length === 'folded') await page.getByRole('button', { name: /^Show all/ }).click()
    await expect
      .poll(() => page.locator('.ab-code-block').evaluate(widthsSeen, evil))
      .toEqual({ isWhole: true, cut: 0 })
  })
})

it('on a phone the composer says what it replies to, also with long words', async () => {
  const gateway = await serve()
  const file_path = `/srv/${'folder'.repeat(30)}`
  const request = { input: { file_path, content: 'x' } }
  const item = await ask(gateway, { kind: 'approval', toolName: 'Write', toolCallId: 'call-1', request })
  const page = await openWindow(gateway, phone)
  await goTo(page, `#/s/${item.sessionId}`)
  const about = page.locator('form q')
  await about.waitFor()
  const isOneLine = () =>
    about.evaluate((element) => {
      const range = document.createRange()
      const text = element.firstChild!
      const topAt = (index: number) => {
        range.setStart(text, index)
        range.setEnd(text, index + 1)
        return range.getBoundingClientRect().top
      }
      return topAt('Write /srv/fold'.length) === topAt(0)
    })
  await expect.poll(isOneLine).toBe(true)
})

describe('the page itself never scrolls', () => {
  it('in a session that is longer than the window', async () => {
    const data = newFolder()
    const store = sqliteStore({ path: join(data, 'askback.db') })
    const desk = createDesk({ store })
    const { session } = await desk.createSession({ agent: null })
    for (let index = 0; index < 40; index++)
      await desk.as({ by: { id: 'me' } }).message({ sessionId: session.id, text: `Message ${index}` })
    desk.close()
    await store.close()
    const page = await openWindow(await serve({ data }))
    await goTo(page, `#/s/${session.id}`)
    await page.getByText('Message 39').waitFor()
    await expect.poll(() => beyondWindow(page)).toBe(0)
  })

  it('in an inbox that is longer than the window', async () => {
    const gateway = await serve()
    for (let index = 0; index < 6; index++) await ask(gateway, command)
    const page = await openWindow(gateway)
    await goTo(page, '#/inbox')
    await expect.poll(() => page.locator('.ab-card').count()).toBe(6)
    await expect.poll(() => beyondWindow(page)).toBe(0)
  })
})

describe('right-to-left text', () => {
  const hebrew = 'באיזה מסד נתונים להשתמש (PostgreSQL 16)?'

  it('is in order wherever people and agents write, and does not reorder code', async () => {
    const gateway = await serve()
    const sessionId = await gateway.session()
    const page = await openWindow(gateway)
    await goTo(page, `#/s/${sessionId}`)
    const sides = (selector: string) => page.locator(selector).first().evaluate(sideOf)
    // The field is shown before the session is loaded, and sends nothing until then.
    await page.getByRole('button', { name: /^Permission mode/ }).waitFor()
    await page.getByLabel('Note for the log').fill(hebrew)
    await expect
      .poll(() => page.locator('form textarea').evaluate((field) => getComputedStyle(field).direction))
      .toBe('rtl')
    await page.keyboard.press('Enter')
    await expect.poll(() => sides('.ab-message-text')).toBe('right')

    const question = { header: 'בסיס', question: hebrew, options: [{ label: hebrew, description: hebrew }] }
    const asked = await ask(gateway, { kind: 'question', request: { questions: [question] } }, sessionId)
    await page.locator('.ab-card').waitFor()
    for (const selector of ['.ab-question-text', '.ab-option-text', '.ab-option-description', 'form q'])
      await expect.poll(async () => [selector, await sides(selector)]).toEqual([selector, 'right'])
    await page.getByRole('radio').first().click()
    await settle(page.locator('.ab-card'), 'Submit')
    await expect.poll(async () => (await readInteraction(gateway, asked)).status).toBe('settled')
    await expect.poll(() => sides('.ab-choice')).toBe('right')

    const plan = `## ${hebrew}\n\n${hebrew}\n\n- ${hebrew}\n\n\`${hebrew}\`\n`
    const planned = await ask(gateway, { kind: 'plan_review', request: { plan } }, sessionId)
    await page.locator('.ab-plan').waitFor()
    for (const selector of ['.ab-plan h2', '.ab-plan p', '.ab-plan li'])
      await expect.poll(async () => [selector, await sides(selector)]).toEqual([selector, 'right'])
    await expect.poll(() => sides('.ab-plan code')).toBe('left')
    await gateway.call('DELETE', `/api/sessions/${sessionId}/interactions/${planned.interactionId}`)

    const request = { input: { file_path: hebrew, content: hebrew }, reason: hebrew }
    await ask(gateway, { kind: 'approval', toolName: 'Write', request }, sessionId)
    await page.locator('.ab-diff-row').waitFor()
    await expect.poll(() => sides('.ab-quote p')).toBe('right')
    for (const selector of ['.ab-approval-words .ab-inline-code', '.ab-code-path', '.ab-diff-text'])
      await expect.poll(async () => [selector, await sides(selector)]).toEqual([selector, 'left'])
  })
})

/** Runs in the page: the side on which the text of an element begins, found by the position of its question mark. */
function sideOf(element: Element): 'left' | 'right' {
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
  const range = document.createRange()
  const leftOf = (node: Node, index: number) => {
    range.setStart(node, index)
    range.setEnd(node, index + 1)
    return range.getBoundingClientRect().left
  }
  while (texts.nextNode()) {
    const node = texts.currentNode
    const end = node.textContent?.indexOf('?') ?? -1
    if (end > 0) return leftOf(node, end) < leftOf(node, 0) ? 'right' : 'left'
  }
  throw new Error('There is no question mark.')
}

function beyondWindow(page: Page): Promise<number> {
  return page.evaluate(() => document.scrollingElement!.scrollHeight - window.innerHeight)
}

/** Runs in the page: whether an element contains a text, and how many parts of it are outside the screen or clipped. */
function widthsSeen(element: Element, wanted: string): { isWhole: boolean; cut: number } {
  const range = document.createRange()
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
  let cut = 0
  while (texts.nextNode()) {
    const node = texts.currentNode
    for (const { index, 0: word } of (node.textContent ?? '').matchAll(/\S+/g)) {
      range.setStart(node, index)
      range.setEnd(node, index + word.length)
      for (const { left, right, width } of range.getClientRects())
        if (width === 0 || left < 0 || right > window.innerWidth) cut += 1
    }
  }
  return { isWhole: element.textContent.includes(wanted), cut }
}

function nested(value: unknown, levels: number): unknown {
  return levels === 0 ? value : { [`level${levels}`]: nested(value, levels - 1) }
}
