import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { expect, it } from 'vitest'
import { newFolder } from '../http/command.js'
import { run, serve } from '../http/gateways.js'
import { ask, database } from './asking.js'
import { goTo, newPage } from './browser.js'
import { openWindow } from './window.js'

it('the command prints one line and opens a browser, which is signed in and offers the tour', async () => {
  const folder = newFolder()
  const opened = join(folder, 'opened')
  const opener = join(folder, 'xdg-open')
  writeFileSync(opener, `#!/bin/sh\nprintf %s "$1" > ${opened}.part && mv ${opened}.part ${opened}\n`)
  chmodSync(opener, 0o755)
  const command = run(['serve', '--port', '0', '--data', newFolder()], {
    PATH: `${folder}${delimiter}${process.env['PATH']}`,
    BROWSER: opener,
    // Or the machine's own browser would be found.
    XDG_DATA_DIRS: folder,
    XDG_DATA_HOME: folder,
    DISPLAY: ':0',
    CI: '',
  })
  await expect.poll(() => existsSync(opened)).toBe(true)
  await expect.poll(() => command.stdout).toMatch(/^Askback is ready: http:\/\/127\.0\.0\.1:\d+\n$/)
  const page = await newPage()
  await page.goto(readFileSync(opened, 'utf8'))
  await page.getByRole('button', { name: 'Take the tour' }).click()
  await page.locator('.ab-flow').getByText('scripted demo agent').waitFor()
})

it('[lesson 31] a person may open more windows than a browser has connections', async () => {
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
  await windows.at(-1)!.getByRole('button', { name: 'Submit' }).click()
  for (const page of windows) await expect.poll(() => page.title()).toBe('Askback')
})

it('[lesson 31] one socket serves all that is looked at, and nothing else stays open', async () => {
  const gateway = await serve()
  const items = [await ask(gateway, database), await ask(gateway, database), await ask(gateway, database)]
  const page = await openWindow(gateway)
  // What the first load still opens is not counted.
  await page.locator('.ab-card').first().waitFor()
  const sockets: string[] = []
  const open = new Set<string>()
  page.on('websocket', (socket) => sockets.push(socket.url()))
  page.on('request', (request) => open.add(request.url()))
  page.on('requestfinished', (request) => open.delete(request.url()))
  page.on('requestfailed', (request) => open.delete(request.url()))
  await page.reload()
  for (const { sessionId, interactionId } of items) {
    await goTo(page, `#/s/${sessionId}`)
    await page.locator(`[data-interaction="${interactionId}"]`).waitFor()
  }
  await expect.poll(() => [...open]).toEqual([])
  expect(sockets).toHaveLength(1)
})
