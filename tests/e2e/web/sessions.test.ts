import type { Session } from '@askback/protocol'
import { spawnSync } from 'node:child_process'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { newFolder } from '../http/command.js'
import { serve, type RunningGateway } from '../http/gateways.js'
import { ask, command, database, edit, readInteraction } from './asking.js'
import { goTo, newPage, textOf } from './browser.js'
import { openWindow } from './window.js'

async function sessionOf(gateway: RunningGateway, id: string): Promise<Session | undefined> {
  const { body } = await gateway.call<{ sessions: Session[] }>('GET', '/api/sessions')
  return body.sessions.find((session) => session.id === id)
}

/** The background color of the page in each theme. */
const LIGHT_PAGE = 'rgb(255, 255, 255)'
const DARK_PAGE = 'rgb(19, 19, 22)'

function row(page: Page, title: RegExp) {
  return page.getByRole('navigation').getByRole('link', { name: title })
}

describe('the list of sessions', () => {
  it('shows the agent, title, status and number of pending requests of each session', async () => {
    const gateway = await serve()
    const page = await openWindow(gateway)
    const icon = () =>
      page.locator('link[rel=icon]').evaluate((link: HTMLLinkElement) => new URL(link.href).pathname)
    await page.getByRole('button', { name: 'Take the tour' }).waitFor()
    await expect.poll(icon).toBe('/icon.svg')
    const item = await ask(gateway, database)
    await row(page, /outside agent 1$/i).waitFor()
    await row(page, /outside/i)
      .getByRole('img', { name: 'waiting for you' })
      .waitFor()
    await expect.poll(() => row(page, /^Inbox/).textContent()).toBe('Inbox1')
    await expect.poll(icon).toBe('/icon-waiting.svg')
    await gateway.call('DELETE', `/api/sessions/${item.sessionId}/interactions/${item.interactionId}`)
    await row(page, /outside/i)
      .getByRole('img', { name: 'idle' })
      .waitFor()
    await expect.poll(icon).toBe('/icon.svg')

    await goTo(page, '#/new')
    await page.getByLabel('Message').fill('Hello there')
    await page.getByRole('button', { name: 'Start' }).click()
    await row(page, /Hello there/).waitFor()
    await expect.poll(() => row(page, /Hello there/).textContent()).toContain('demo')
  })
})

describe('a session', () => {
  it('starts with an agent, a folder and a mode, which can be changed', async () => {
    const gateway = await serve()
    const page = await openWindow(gateway)
    const cwd = newFolder()
    await goTo(page, '#/new')
    await page.getByRole('radio', { name: /Demo/ }).click()
    await page.getByRole('textbox', { name: /Folder/ }).fill(cwd)
    await page.getByRole('combobox', { name: /Permissions/ }).selectOption('plan')
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByRole('button', { name: 'Permission mode: Plan' }).click()
    const id = page.url().split('/').at(-1)!
    await expect
      .poll(() => sessionOf(gateway, id))
      .toMatchObject({ agent: 'demo', cwd, permissionMode: 'plan' })
    await page.getByRole('menuitemradio', { name: /Accept edits/ }).click()
    await page.getByRole('button', { name: 'Permission mode: Accept edits' }).waitFor()
    await expect.poll(async () => (await sessionOf(gateway, id))?.permissionMode).toBe('acceptEdits')
  })

  it('can be stopped, cleared and deleted', async () => {
    const gateway = await serve()
    const page = await openWindow(gateway)
    await page.getByRole('button', { name: 'Take the tour' }).click()
    await page.getByRole('radio', { name: /PostgreSQL/ }).waitFor()
    // Until then the inbox may still show it.
    await page.getByRole('button', { name: 'Stop' }).click()
    const id = page.url().split('/').at(-1)!
    await expect.poll(() => sessionOf(gateway, id)).toBeDefined()
    await page.getByText('Interrupted', { exact: true }).first().waitFor()
    // The text is in the card, and also in the live region for screen readers.
    await page.locator('.ab-card').getByText('You stopped this').waitFor()
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: /Clear/ }).click()
    await page.getByText('Context cleared').waitFor()
    await page.evaluate(() => Object.assign(window, { confirm: () => true }))
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: /Delete/ }).click()
    await page.getByRole('heading', { name: 'Agents that ask back' }).waitFor()
    await expect.poll(() => sessionOf(gateway, id)).toBeUndefined()
  })

  it('takes a text as the answer to a question, says so, and lets the person choose the agent instead', async () => {
    const gateway = await serve()
    const item = await ask(gateway, database)
    const page = await openWindow(gateway)
    await goTo(page, `#/s/${item.sessionId}`)
    await page.getByText('Replying to: Which database?').waitFor()
    await page.getByRole('button', { name: /Write a note/ }).click()
    await page.getByText('Note for the log: no agent reads it.').waitFor()
    await page.getByLabel('Note for the log').waitFor()
    await page.getByRole('button', { name: 'Reply to the request' }).click()
    await page.getByLabel('Reply to: Which database?').fill('DuckDB')
    await page.keyboard.press('Enter')
    await expect
      .poll(async () => (await readInteraction(gateway, item)).answer)
      .toEqual({ answers: [{ selected: [], other: 'DuckDB' }] })
  })

  it('with an approval and a question asks which one a text is for, or uses the focused card', async () => {
    const gateway = await serve()
    const approval = await ask(gateway, command)
    const { sessionId } = approval
    const question = await ask(gateway, database, sessionId)
    const page = await openWindow(gateway)
    await goTo(page, `#/s/${sessionId}`)
    const select = page.getByLabel('Replying to:')
    await select.waitFor()
    const field = page.locator('form textarea').last()
    await field.fill('DuckDB')
    await page.getByText('Choose what you are replying to.').waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(() => page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true)
    await page.locator(`[data-interaction="${question.interactionId}"]`).focus()
    await page.getByText('Your reply is the answer.').waitFor()
    await field.press('Enter')
    await expect
      .poll(async () => (await readInteraction(gateway, question)).answer)
      .toEqual({ answers: [{ selected: [], other: 'DuckDB' }] })
    await expect.poll(async () => (await readInteraction(gateway, approval)).status).toBe('pending')
  })

  it('of an outside agent shows while it is empty a command that asks there, which works', async () => {
    const gateway = await serve()
    const id = await gateway.session()
    const page = await openWindow(gateway)
    await goTo(page, `#/s/${id}`)
    await page.getByRole('heading', { name: 'This session waits for an outside agent' }).waitFor()
    await page.getByLabel('Note for the log').waitFor()
    const said = () => page.getByLabel('Empty session').innerText()
    await expect.poll(said).toContain('everyone who is signed in to this gateway can answer')
    await expect.poll(said).toContain('What you write below is a note for the log: no agent reads it.')
    const samples = page.locator('.ab-code-block pre')
    await expect.poll(() => samples.first().textContent()).toContain(`--session ${id}`)
    const request = await textOf(samples.nth(1))
    const curl = spawnSync('bash', ['-c', request.replace('wait=25', 'wait=0')], {
      env: { ...process.env, ASKBACK_AGENT_TOKEN: gateway.ready.agentToken },
      encoding: 'utf8',
    })
    expect(JSON.parse(curl.stdout)).toMatchObject({ interaction: { status: 'pending' } })
    await page.getByText('Replying to: Which database?').waitFor()
    await expect.poll(() => page.getByRole('heading', { name: /waits for an outside/ }).count()).toBe(0)
  })

  it('of an agent says while it is empty that a message starts it', async () => {
    const gateway = await serve()
    const made = await gateway.call<{ session: Session }>('POST', '/api/sessions', {
      body: { agent: 'demo' },
    })
    const { id } = made.body.session
    const page = await openWindow(gateway)
    await goTo(page, `#/s/${id}`)
    await page.getByLabel('Message to the agent').waitFor()
    await page.getByRole('heading', { name: 'New session with demo' }).waitFor()
    await page.getByText('Write a message below to start').waitFor()
    const audience = 'Everyone who is signed in to this gateway can write here and answer.'
    await expect.poll(() => page.getByText(audience).isVisible()).toBe(true)
  })

  it('with a truncated address is reported as not found', async () => {
    const page = await openWindow(await serve())
    await goTo(page, '#/s/%E2%8')
    await expect.poll(() => page.getByText('This session can’t be shown').isVisible()).toBe(true)
  })
})

it('a diff is shown side by side on a wide screen, and in one column on a phone', async () => {
  const gateway = await serve()
  const { sessionId } = await ask(gateway, edit)
  const page = await openWindow(gateway)
  await goTo(page, `#/s/${sessionId}`)
  const cells = () => page.locator('.ab-diff-row').first().locator('td').count()
  await page.getByRole('button', { name: 'Side by side' }).click()
  await expect.poll(() => page.locator('.ab-diff-row').count()).toBe(1)
  await expect.poll(cells).toBe(4)
  await page.reload()
  await expect.poll(() => page.locator('.ab-diff[data-split]').count()).toBe(1)
  await page.setViewportSize({ width: 375, height: 720 })
  await expect.poll(() => page.locator('.ab-diff-row').count()).toBe(2)
  await expect.poll(() => page.getByRole('button', { name: 'Side by side' }).count()).toBe(0)
  // Compared in a worker, so that the page stays responsive.
  await expect
    .poll(() => page.workers().map((worker) => worker.url()))
    .toContainEqual(expect.stringMatching(/\/diff-worker[^/]*\.js$/))
})

describe('a person who is not signed in', () => {
  it('sees how to sign in, and nothing else', async () => {
    const gateway = await serve()
    await ask(gateway, command)
    const page = await newPage()
    await page.goto(gateway.ready.url)
    await page.getByRole('heading', { name: 'You are not signed in' }).waitFor()
    await expect.poll(() => page.getByRole('navigation').count()).toBe(0)
  })
})

it('a chosen theme is applied before the first paint, and stays', async () => {
  const page = await openWindow(await serve(), { colorScheme: 'light' })
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  await page.getByRole('button', { name: 'Settings' }).click()
  await expect.poll(background).toBe(LIGHT_PAGE)
  await page.getByRole('radio', { name: 'dark' }).check({ force: true })
  await expect.poll(background).toBe(DARK_PAGE)
  await page.route('**/assets/*.js', () => undefined)
  await page.goto(page.url(), { waitUntil: 'commit' })
  await page.getByText('Loading…').waitFor()
  const frame = page.locator('.frame')
  await expect
    .poll(() => frame.evaluate((element) => getComputedStyle(element).backgroundColor))
    .toBe(DARK_PAGE)
})
