import { createDesk, type ReportedEvent } from '@askback/core'
import { sqliteStore } from '@askback/store-sqlite'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newFolder } from '../http/command.js'
import { portToKeep, serve } from '../http/gateways.js'
import { ask, database, release, readInteraction } from './asking.js'
import { goTo, pressUntil, settle } from './browser.js'
import { takeTour } from './tour.js'
import { openWindow } from './window.js'

describe('the first minute', () => {
  it('takes the tour from the first page to its end, without any setup', async () => {
    const page = await openWindow(await serve())
    await takeTour(page)
    await expect.poll(() => page.locator('.ab-card[data-phase=settled]').count()).toBe(5)
  })

  it('opens the tour before its agent has received the first message', async () => {
    const page = await openWindow(await serve())
    await page.route('**/messages', () => undefined)
    await page.getByRole('button', { name: 'Take the tour' }).click()
    await page.getByLabel('Message to the agent').waitFor()
    await expect.poll(() => page.url()).toMatch(/#\/s\//)
  })

  it('has a question that is answered with the keyboard alone', async () => {
    const gateway = await serve()
    const page = await openWindow(gateway)
    const item = await ask(gateway, database)
    await goTo(page, `#/s/${item.sessionId}`)
    await page.getByText('Which database?').first().waitFor()
    await page.locator('.ab-card').first().focus()
    await page.keyboard.press('2')
    await expect.poll(() => page.getByRole('radio', { name: /Postgres/ }).isChecked()).toBe(true)
    // Controls are disabled until they have been on the screen for a moment.
    await expect.poll(() => page.getByRole('button', { name: 'Submit' }).isEnabled()).toBe(true)
    await page.keyboard.press('Enter')
    await expect
      .poll(async () => (await readInteraction(gateway, item)).answer)
      .toEqual({ answers: [{ selected: ['Postgres'] }] })
  })
})

describe('a person with more than one window', () => {
  it('sees in the others an answer from one, with the person and the surface', async () => {
    const gateway = await serve()
    const item = await ask(gateway, database)
    const first = await openWindow(gateway)
    const second = await openWindow(gateway)
    for (const page of [first, second]) await goTo(page, `#/s/${item.sessionId}`)
    await second.getByRole('radio', { name: /Postgres/ }).click()
    await first.getByRole('radio', { name: /SQLite/ }).click()
    await settle(first.locator('.ab-card'), 'Submit')
    await second.getByText(/Selected:/).waitFor()
    const outcome = second.locator('.ab-card .ab-outcome-text')
    await expect.poll(() => outcome.innerText()).toMatch(/^Answered\s*by you in the browser$/)
    await second.getByRole('status').getByText('Answered by you in the browser.').waitFor()
    await expect
      .poll(async () => (await readInteraction(gateway, item)).answer)
      .toEqual({ answers: [{ selected: ['SQLite'] }] })
  })

  it('finds an unsent choice again after a reload', async () => {
    const gateway = await serve()
    const item = await ask(gateway, database)
    const page = await openWindow(gateway)
    await goTo(page, `#/s/${item.sessionId}`)
    await page.getByRole('radio', { name: /Postgres/ }).click()
    await page.reload()
    await expect.poll(() => page.getByRole('radio', { name: /Postgres/ }).isChecked()).toBe(true)
    await expect.poll(() => page.title()).toBe('(1) Askback')
  })
})

describe('a gateway that becomes unreachable', () => {
  it('does not change a half-filled form, and accepts it after the restart', async () => {
    const port = await portToKeep()
    const before = await serve({ port })
    const item = await ask(before, release)
    const page = await openWindow(before)
    await goTo(page, `#/s/${item.sessionId}`)
    await page.getByLabel('Version').fill('1.2.3')
    await before.stop('SIGKILL')
    await page.getByText('The gateway can’t be reached.').waitFor()
    await page.getByLabel('Notes').fill('while it was down')
    const after = await serve({ data: before.data, port })
    await expect.poll(() => page.getByText('The gateway can’t be reached.').isVisible()).toBe(false)
    await expect.poll(() => page.getByLabel('Version').inputValue()).toBe('1.2.3')
    const isSettled = async () => (await readInteraction(after, item)).status === 'settled'
    await pressUntil(page.getByRole('button', { name: 'Submit' }), isSettled)
    await expect
      .poll(async () => (await readInteraction(after, item)).answer)
      .toEqual({ values: { version: '1.2.3', notes: 'while it was down' } })
  })

  it('gets an answer from the time in between, once', async () => {
    const port = await portToKeep()
    const before = await serve({ port })
    const item = await ask(before, database)
    const page = await openWindow(before)
    await goTo(page, `#/s/${item.sessionId}`)
    await page.getByRole('radio', { name: /SQLite/ }).click()
    await before.stop('SIGKILL')
    await page.getByText('The gateway can’t be reached.').waitFor()
    const queued = page.getByText(/Askback keeps your answer and/)
    await pressUntil(page.getByRole('button', { name: 'Submit' }), () => queued.isVisible())
    const after = await serve({ data: before.data, port })
    await expect.poll(async () => (await readInteraction(after, item)).status).toBe('settled')
    await page.getByText(/Selected:/).waitFor()
  })
})

describe('on a phone', () => {
  it('the page fits, and the menu leads to every session', async () => {
    const gateway = await serve()
    const item = await ask(gateway, database)
    const page = await openWindow(gateway, { viewport: { width: 375, height: 720 }, hasTouch: true })
    await page.getByText('Which database?').first().waitFor()
    const overflow = () =>
      page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
    await expect.poll(overflow).toBe(0)
    await page.getByRole('button', { name: /^Menu/ }).click()
    await page
      .getByRole('navigation')
      .getByRole('link', { name: /outside agent/i })
      .click()
    await page.getByRole('radio', { name: /SQLite/ }).click()
    await expect.poll(overflow).toBe(0)
    await expect.poll(() => page.locator('header:visible').count()).toBe(1)
    await settle(page.locator('.ab-card'), 'Submit')
    await expect.poll(async () => (await readInteraction(gateway, item)).status).toBe('settled')
  })
})

describe('content from an agent', () => {
  it('is shown as text, and no part of it runs', async () => {
    const gateway = await serve()
    const evil =
      '<img src=x onerror="alert(1)"><script>alert(2)</script> [click](javascript:alert(3)) \u202Etxt.exe \u001b[31mred'
    const { sessionId } = await ask(gateway, {
      kind: 'question',
      request: {
        questions: [
          {
            header: evil,
            question: evil,
            options: [{ label: evil, description: evil, preview: evil }],
            multiSelect: false,
          },
        ],
      },
    })
    const page = await openWindow(gateway)
    await goTo(page, `#/s/${sessionId}`)
    await page.locator('.ab-card').waitFor()
    await expect
      .poll(() => page.locator('.ab-card img, .ab-card script, .ab-card a[href^="javascript"]').count())
      .toBe(0)
    await expect.poll(() => page.locator('.ab-hidden-character').count()).toBeGreaterThan(0)
  })

  it('cannot change the direction of other text', async () => {
    const gateway = await serve()
    const turned = 'gpj\u202e.exe\u2066\u200b'
    const { body } = await gateway.call<{ session: { id: string } }>('POST', '/api/sessions', {
      body: { agent: null, title: turned },
      as: gateway.ready.agentToken,
    })
    const sessionId = body.session.id
    const page = await openWindow(gateway)
    const hidden = () =>
      page.evaluate(() => {
        const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
        const found: string[] = []
        while (texts.nextNode()) found.push(texts.currentNode.textContent ?? '')
        return found.filter((text) => /[\u200b\u202a-\u202e\u2066-\u2069]/.test(text))
      })
    const bodies = [
      { kind: 'approval', toolName: turned, request: { input: { command: turned }, suggestions: turned } },
      { kind: 'plan_review', request: { plan: `# ${turned}` } },
      { kind: 'form', request: { message: turned, schema: { fields: [{ name: turned, type: 'text' }] } } },
    ]
    for (const asked of bodies) {
      const item = await ask(gateway, asked, sessionId)
      await goTo(page, `#/s/${sessionId}`)
      const card = page.locator(`.ab-card[data-interaction="${item.interactionId}"]`)
      await card.waitFor()
      await expect.poll(hidden).toEqual([])
      await goTo(page, '#/inbox')
      await card.waitFor()
      await expect.poll(hidden).toEqual([])
      await gateway.call('DELETE', `/api/sessions/${sessionId}/interactions/${item.interactionId}`)
    }
  })

  it('is shown from its beginning if it is longer than the window', async () => {
    const gateway = await serve()
    const fields = Array.from({ length: 30 }, (_, index) => ({ name: `f${index}`, type: 'text' }))
    const request = { message: 'A long form', schema: { fields } }
    const { sessionId } = await ask(gateway, { kind: 'form', request })
    const page = await openWindow(gateway)
    await goTo(page, `#/s/${sessionId}`)
    await expect.poll(() => page.getByText('A long form').evaluate(isInView)).toBe(true)
    const last = page.getByLabel('f29')
    await last.click()
    await page.keyboard.type('typed')
    await expect.poll(() => last.evaluate(isInView)).toBe(true)
    await expect.poll(() => page.getByRole('button', { name: 'An answer is needed' }).count()).toBe(0)
  })

  it('is shown at its end when a long session is opened', async () => {
    const data = newFolder()
    const store = sqliteStore({ path: join(data, 'askback.db') })
    const desk = createDesk({ store })
    const { session } = await desk.createSession({ agent: null })
    for (let batch = 0; batch < 10; batch++) {
      const events = Array.from({ length: 500 }, (_, index) => readCall(batch * 500 + index)).flat()
      await desk.report({ sessionId: session.id, events })
    }
    await desk.as({ by: { id: 'me' } }).message({ sessionId: session.id, text: 'The last words.' })
    desk.close()
    await store.close()
    const page = await openWindow(await serve({ data }))
    await goTo(page, `#/s/${session.id}`)
    await page.getByText('The last words.').waitFor()
    await expect.poll(() => page.locator('.ab-conversation *').count()).toBeLessThan(20_000)
  })

  it('can be scrolled back to its beginning, and new content does not move the view', async () => {
    const data = newFolder()
    const store = sqliteStore({ path: join(data, 'askback.db') })
    const desk = createDesk({ store })
    const { session } = await desk.createSession({ agent: null })
    for (let turn = 0; turn < 120; turn++) await desk.report({ sessionId: session.id, events: turnOf(turn) })
    desk.close()
    await store.close()
    const gateway = await serve({ data })
    const page = await openWindow(gateway)
    await goTo(page, `#/s/${session.id}`)
    await page.getByText('Answer 119.').waitFor()
    const up = () =>
      page.locator('.ab-scroller').evaluate((element) => element.scrollBy(0, -element.scrollTop))
    const first = page.getByText('Answer 0.', { exact: true })
    const earlier = page.locator('.ab-earlier')
    await expect.poll(async () => (await up(), [await first.count(), await earlier.count()])).toEqual([1, 0])
    await up()
    await expect.poll(() => first.evaluate(restingTop)).toBeGreaterThan(0)
    const before = await first.evaluate(restingTop)
    await ask(gateway, database, session.id)
    await page.getByRole('button', { name: 'An answer is needed' }).waitFor()
    await expect.poll(() => first.evaluate(restingTop)).toBe(before)
    await page.getByRole('button', { name: 'An answer is needed' }).click()
    await expect.poll(() => page.locator('.ab-card').evaluate(isInView)).toBe(true)
  })
})

/** Runs in the page. */
function isInView(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect()
  const view = element.closest('.ab-scroller')!.getBoundingClientRect()
  return top >= view.top && bottom <= view.bottom
}

/** Runs in the page: rows get their real heights when they come into view, which takes some frames. */
async function restingTop(element: Element): Promise<number> {
  const top = () => element.getBoundingClientRect().top
  for (let last = top(), still = 0; ; last = top()) {
    await new Promise(requestAnimationFrame)
    still = top() === last ? still + 1 : 0
    if (still === 10) return last
  }
}

function turnOf(turn: number): ReportedEvent[] {
  const turnId = `t${turn}`
  const responseId = `r${turn}`
  return [
    { type: 'turn_started', turnId },
    ...Array.from({ length: 10 }, (_, index) => readCall(turn * 10 + index))
      .flat()
      .map((event) => ({ ...event, turnId, responseId })),
    { type: 'text', turnId, responseId, blockId: `b${turn}`, text: `Answer ${turn}.` },
    { type: 'turn_ended', turnId, reason: 'done' },
  ]
}

function readCall(index: number): ReportedEvent[] {
  const toolCallId = `c${index}`
  return [
    { type: 'tool_call', toolCallId, toolName: 'Read', input: { file_path: `src/file-${index}.ts` } },
    { type: 'tool_result', toolCallId, output: 'read', isError: false },
  ]
}
