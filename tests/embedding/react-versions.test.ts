import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build, defaultClientConditions } from 'vite'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { root } from '../architecture/workspace.js'
import { newPage, pressUntil } from '../e2e/web/browser.js'
import { serveFolder } from './served-folder.js'

const versions = [
  { version: '18', modules: join(import.meta.dirname, 'node_modules') },
  { version: '19', modules: join(root, 'node_modules') },
]

describe.each(versions)('an inbox on React $version', async ({ version, modules }) => {
  const folder = mkdtempSync(join(tmpdir(), 'askback-react-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const address = await buildApp(folder, modules)

  it('approves what was seen, and answers a question', async () => {
    const page = await newPage()
    const complaints: string[] = []
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
    await page.goto(address)
    await expect.poll(() => page.title()).toMatch(new RegExp(`^React ${version}\\.`, 'u'))
    const approve = page.getByRole('button', { name: 'Approve once' })
    await approve.waitFor()
    await expect.poll(() => approve.isDisabled()).toBe(true)
    await showEverything(page)
    const option = page.getByRole('radio', { name: 'SQLite' })
    await pressUntil(approve, () => option.isVisible())
    await option.click()
    const submit = page.getByRole('button', { name: 'Submit' })
    const isAnswered = async () => (await page.title()).startsWith('approved, then {"settlement":"answered"')
    await pressUntil(submit, isAnswered)
    expect(complaints).toEqual([])
  })
})

/** The part of the request that is folded, and then whatever has not been on screen. */
async function showEverything(page: Awaited<ReturnType<typeof newPage>>): Promise<void> {
  const next = page.getByRole('button', { name: 'Show the next part' })
  await expect
    .poll(
      async () => {
        if (await next.isVisible()) await next.click()
        return next.isVisible()
      },
      { interval: 200 },
    )
    .toBe(false)
}

/** With the React in `modules`; everything else is the default of Vite. */
async function buildApp(folder: string, modules: string): Promise<string> {
  const entry = join(import.meta.dirname, 'react-app.tsx')
  writeFileSync(
    join(folder, 'index.html'),
    `<!doctype html><meta charset="utf-8" /><link rel="icon" href="data:," /><div id="root"></div><script type="module" src="${entry}"></script>`,
  )
  vi.stubEnv('NODE_ENV', 'production')
  await build({
    root: folder,
    base: './',
    logLevel: 'error',
    resolve: {
      alias: { react: join(modules, 'react'), 'react-dom': join(modules, 'react-dom') },
      conditions: ['askback-source', ...defaultClientConditions],
    },
    build: { outDir: join(folder, 'dist') },
  })
  vi.unstubAllEnvs()
  return serveFolder(join(folder, 'dist'))
}
