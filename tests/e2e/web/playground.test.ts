import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { newPage, settle } from './browser.js'
import { buildApp } from './build-app.js'
import { takeTour } from './tour.js'

const folder = mkdtempSync(join(tmpdir(), 'askback-playground-'))
afterAll(() => rmSync(folder, { recursive: true }))
await buildApp('playground', folder)

const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' }
const PLACE = '/somewhere/deep/'

const server = createServer(({ url = '' }, response) => {
  const path = url === PLACE ? 'index.html' : url.slice(PLACE.length)
  response.setHeader('content-type', TYPES[extname(path)] ?? 'image/svg+xml')
  response.end(readFileSync(join(folder, path)))
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
afterAll(() => server.close())
const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}${PLACE}`

it('takes the whole tour in one static page, without network requests', async () => {
  const page = await newPage()
  const asked: string[] = []
  page.on('request', (request) => asked.push(`${request.method()} ${request.url()}`))
  page.on('websocket', (socket) => asked.push(socket.url()))
  await page.goto(address)
  await page.getByText(/all run in your browser/).waitFor()
  await takeTour(page)
  expect(asked.filter((request) => !request.startsWith(`GET ${address}`))).toEqual([])
})

it('keeps a question through a reload, and continues the tour with its answer', async () => {
  const page = await newPage()
  await page.goto(address)
  await page.getByRole('button', { name: 'Take the tour' }).click()
  await page.getByRole('radio', { name: /SQLite/ }).waitFor()
  await page.reload()
  await page.getByRole('radio', { name: /SQLite/ }).click()
  await settle(page.locator('.ab-card').first(), 'Submit')
  await expect.poll(() => page.getByText('SQLite it is.').isVisible()).toBe(true)
})

it('starts over in a second tab, and says why', async () => {
  const first = await newPage()
  await first.goto(address)
  await first.getByRole('button', { name: 'Take the tour' }).click()
  await first.getByRole('radio', { name: /SQLite/ }).waitFor()
  const second = await first.context().newPage()
  await second.goto(address)
  await second.getByText('The playground is open in another tab. A reload of this tab starts over.').waitFor()
  const tour = second.getByRole('button', { name: 'Take the tour' })
  await expect.poll(() => tour.isVisible()).toBe(true)
})
