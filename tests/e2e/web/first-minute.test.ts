import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { newFolder } from '../http/command.js'
import { run, serve } from '../http/gateways.js'
import { ask, database } from './asking.js'
import { goTo, newPage, settle } from './browser.js'
import { openWindow } from './window.js'

interface Opener {
  env: Record<string, string>
  /** Waits until the command starts a browser, and returns the arguments. */
  opened: () => Promise<string>
  /** The visible arguments of every process on this machine at that moment. */
  commandLines: () => string
}

/** Replaces the program that opens an address in the browser of this machine. */
function fakeOpener(): Opener {
  const folder = newFolder()
  const [opened, lines] = [join(folder, 'opened'), join(folder, 'lines')]
  const opener = join(folder, 'xdg-open')
  const script = [
    '#!/bin/sh',
    `cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' > ${lines}`,
    `printf %s "$*" > ${opened}.part && mv ${opened}.part ${opened}`,
  ]
  writeFileSync(opener, `${script.join('\n')}\n`)
  chmodSync(opener, 0o755)
  return {
    env: {
      PATH: `${folder}${delimiter}${process.env['PATH']}`,
      BROWSER: opener,
      // Otherwise the machine's own browser would be found.
      XDG_DATA_DIRS: folder,
      XDG_DATA_HOME: folder,
      DISPLAY: ':0',
      CI: '',
    },
    async opened() {
      await expect.poll(() => existsSync(opened)).toBe(true)
      return readFileSync(opened, 'utf8')
    },
    commandLines: () => readFileSync(lines, 'utf8'),
  }
}

it('the command prints one line and opens a browser, which is signed in and offers the tour', async () => {
  const opener = fakeOpener()
  const data = newFolder()
  const command = run(['serve', '--port', '0', '--data', data], opener.env)
  const opened = await opener.opened()
  await expect.poll(() => command.stdout).toMatch(/^Askback is ready: http:\/\/127\.0\.0\.1:\d+\n$/)
  await expect.poll(() => command.stderr).toBe('To sign in again, or in another browser: askback open\n')
  const page = await newPage()
  await page.goto(opened)
  await page.getByRole('button', { name: 'Take the tour' }).click()
  await page.locator('.ab-timeline').getByText('scripted demo agent').waitFor()
  // The code was used, and is no longer in the address.
  await expect.poll(() => readdirSync(data).filter((file) => file.endsWith('.html'))).toEqual([])
})

describe('no process shows the code in its arguments, because the browser is given a private file', () => {
  async function checkPrivate(opened: string, data: string, opener: Opener): Promise<void> {
    expect(opened).toMatch(/^file:/)
    const file = fileURLToPath(opened)
    expect(dirname(file)).toBe(data)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(statSync(data).mode & 0o777).toBe(0o700)
    const [code = ''] = /code_[\w-]+/.exec(readFileSync(file, 'utf8')) ?? []
    expect(code).toMatch(/^code_[\w-]{40}/)
    expect(opener.commandLines()).toContain(data)
    expect(opener.commandLines()).not.toContain(code)
    // No other code is shown either. Other programs of this machine may have similar words in their arguments.
    expect(opener.commandLines()).not.toMatch(/code_[\w-]{40}/)
  }

  it('by askback serve, which removes it when it stops', async () => {
    const opener = fakeOpener()
    const data = newFolder()
    const command = run(['serve', '--port', '0', '--data', data], opener.env)
    const opened = await opener.opened()
    await checkPrivate(opened, data, opener)
    await command.kill('SIGTERM')
    expect(existsSync(fileURLToPath(opened))).toBe(false)
  })

  it('by askback open, which ends once the browser is signed in', async () => {
    const { data } = await serve()
    const opener = fakeOpener()
    const command = run(['open', '--data', data], opener.env)
    const opened = await opener.opened()
    await checkPrivate(opened, data, opener)
    const page = await newPage()
    await page.goto(opened)
    await page.getByRole('button', { name: 'Take the tour' }).waitFor()
    await expect(command.ended).resolves.toEqual({ code: 0, signal: null })
    expect(command.stdout + command.stderr).toBe('')
    expect(existsSync(fileURLToPath(opened))).toBe(false)
  })

  it('by askback open, which leaves nothing when it is interrupted', async () => {
    const { data } = await serve()
    const opener = fakeOpener()
    const command = run(['open', '--data', data], opener.env)
    const opened = await opener.opened()
    await command.kill('SIGINT')
    expect(existsSync(fileURLToPath(opened))).toBe(false)
  })
})

it('a person may open more windows than a browser has connections', async () => {
  const gateway = await serve()
  const item = await ask(gateway, database)
  const first = await openWindow(gateway)
  const windows = [first]
  for (let more = 0; more < 7; more++) {
    const page = await first.context().newPage()
    await page.goto(`${gateway.ready.url}/#/s/${item.sessionId}`)
    await page.getByText('Which database?').first().waitFor()
    windows.push(page)
  }
  for (const page of windows) await expect.poll(() => page.title()).toBe('(1) Askback')
  await windows
    .at(-1)!
    .getByRole('radio', { name: /SQLite/ })
    .click()
  await settle(windows.at(-1)!.locator('.ab-card'), 'Submit')
  for (const page of windows) await expect.poll(() => page.title()).toBe('Askback')
})

it('one socket serves all open sessions, and no other connection stays open', async () => {
  const gateway = await serve()
  const items = [await ask(gateway, database), await ask(gateway, database), await ask(gateway, database)]
  const page = await openWindow(gateway)
  // Connections of the first load are not counted.
  await page.goto('about:blank')
  const sockets: string[] = []
  const open = new Set<string>()
  page.on('websocket', (socket) => sockets.push(socket.url()))
  page.on('request', (request) => open.add(request.url()))
  page.on('requestfinished', (request) => open.delete(request.url()))
  page.on('requestfailed', (request) => open.delete(request.url()))
  await page.goto(gateway.ready.url)
  for (const { sessionId, interactionId } of items) {
    await goTo(page, `#/s/${sessionId}`)
    await page.locator(`[data-interaction="${interactionId}"]`).waitFor()
  }
  await expect.poll(() => [...open]).toEqual([])
  expect(sockets).toHaveLength(1)
})
