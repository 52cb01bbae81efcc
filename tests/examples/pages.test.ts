import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { root } from '../architecture/workspace.js'
import { newPage, pressUntil } from '../e2e/web/browser.js'
import { serveFolder } from '../embedding/served-folder.js'
import { installAll } from '../packed/packages.js'
import { answersAt, freePort, installExample } from './installed-example.js'

/** Packing and installing takes a minute, and minutes on a busy machine. */
const INSTALL_MS = 600_000

beforeAll(async () => {
  await installAll()
}, INSTALL_MS)

/** Somebody wants a refund, a person approves it on a page, and the server answers. */
async function expectRefundApprovedOn(page: Page, server: string): Promise<void> {
  const asked = fetch(`${server}/refunds`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ order: 7 }),
  })
  let reply: unknown
  const answered = asked.then(async (response) => {
    reply = (await response.json()) as unknown
  })
  await pressUntil(page.getByRole('button', { name: 'Approve once' }), async () => reply !== undefined)
  await answered
  expect(reply).toEqual({ refunded: { order: 7 } })
}

describe('the example', () => {
  it('express asks, and a person approves in the web app under its path', async () => {
    const example = await installExample('express')
    const port = await freePort()
    const server = `http://127.0.0.1:${port}`
    example.start('npm', ['start', '--silent'], { PORT: String(port) })
    await answersAt(`${server}/askback/`)
    const page = await newPage()
    await page.goto(`${server}/askback/#/inbox`)
    await expectRefundApprovedOn(page, server)
  })

  it('vite-react asks, and a person approves on its own page', async () => {
    const example = await installExample('vite-react')
    example.run('node', ['node_modules/vite/bin/vite.js', 'build'])
    const port = await freePort()
    const server = `http://127.0.0.1:${port}`
    example.start('npm', ['start', '--silent'], { PORT: String(port) })
    await answersAt(server)
    const page = await newPage()
    await page.goto(server)
    await expectRefundApprovedOn(page, server)
  })

  it('next asks, and a person approves on its own page', { timeout: INSTALL_MS }, async () => {
    const example = await installExample('next')
    // Next.js follows no links to other folders. React is the one that is installed with our packages.
    const modules = join(example.folder, 'node_modules')
    cpSync(join(root, 'tests/embedding/node_modules'), modules, { recursive: true, verbatimSymlinks: true })
    for (const name of ['react', 'react-dom']) rmSync(join(modules, name), { recursive: true })
    example.run('npm', ['run', 'build'])
    const port = await freePort()
    const server = `http://127.0.0.1:${port}`
    example.start('npm', ['start', '--silent', '--', '--port', String(port), '--hostname', '127.0.0.1'])
    await answersAt(server)
    const page = await newPage()
    await page.goto(server)
    await expectRefundApprovedOn(page, server)
  })

  it('in-process asks in its page, and again after a reload, until somebody answers', async () => {
    const example = await installExample('in-process')
    example.run('node', ['node_modules/vite/bin/vite.js', 'build'])
    const page = await newPage()
    const printed: string[] = []
    page.on('console', (message) => message.type() === 'log' && printed.push(message.text()))
    await page.goto(await serveFolder(join(example.folder, 'dist')))
    await page.getByText('Where do new notes go?').first().waitFor()
    await page.reload()
    await page.getByRole('radio', { name: 'Archive' }).click()
    await pressUntil(page.getByRole('button', { name: 'Submit' }), async () => printed.length > 0)
    expect(printed).toEqual(['New notes go to Archive.'])
    await page.reload()
    await expect.poll(() => printed).toEqual(['New notes go to Archive.', 'New notes go to Archive.'])
  })
})
