import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { newPage, pressUntil } from '../e2e/web/browser.js'
import { serveFolder } from '../embedding/served-folder.js'
import { installExample } from './installed-example.js'

const { folder, run } = await installExample('obsidian')
run('node', ['node_modules/vite/bin/vite.js', 'build'])

// What Obsidian does with a plug-in, as far as this one uses it. The real one cannot run here.
const obsidian = `
const registered = { commands: {}, views: {}, notices: [] }
class Component { register() {} }
class Plugin extends Component {
  app = { workspace: { getLeaf: () => ({ setViewState: ({ type }) => openView(type) }) } }
  registerView(type, create) { registered.views[type] = create }
  addRibbonIcon(icon, title, onPress) { registered.ribbon = onPress }
  addCommand({ id, callback }) { registered.commands[id] = callback }
}
class ItemView extends Component { contentEl = document.getElementById('leaf') }
class Notice { constructor(text) { registered.notices.push(text) } }
function openView(type) { registered.views[type]({}) }
const required = { obsidian: { Plugin, ItemView, Notice } }
const module = { exports: {} }
new Function('module', 'exports', 'require', await (await fetch('main.js')).text())(module, module.exports, (name) => required[name])
await new (module.exports.default ?? module.exports)().onload()
registered.ribbon()
globalThis.registered = registered
`
writeFileSync(
  join(folder, 'index.html'),
  '<!doctype html><link rel="icon" href="data:," /><link rel="stylesheet" href="styles.css" /><div id="leaf"></div><script type="module" src="obsidian.js"></script>',
)
writeFileSync(join(folder, 'obsidian.js'), obsidian)
const address = await serveFolder(folder)

interface Registered {
  commands: Record<string, () => void>
  notices: string[]
}
const runCommand = (page: Page) =>
  page.evaluate(() => (globalThis as unknown as { registered: Registered }).registered.commands['tidy']?.())
const noticesOf = (page: Page) =>
  page.evaluate(() => (globalThis as unknown as { registered: Registered }).registered.notices)

async function openVault(): Promise<Page> {
  const page = await newPage()
  await page.goto(address)
  await page.getByText('All caught up.').waitFor()
  return page
}

const proceed = (page: Page) => page.getByRole('button', { name: 'Proceed', exact: true })

describe('the plug-in for Obsidian', () => {
  it('is one CommonJS file and its styles, with a manifest', () => {
    expect(existsSync(join(folder, 'assets'))).toBe(false)
    const { id, minAppVersion } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Record<
      string,
      string
    >
    expect([id, minAppVersion]).toEqual(['askback-inbox', expect.stringMatching(/^\d+\.\d+\.\d+$/u)])
  })

  it('shows in its view what is asked, and gets the answer', async () => {
    const page = await openVault()
    await runCommand(page)
    await page.getByText('Move old notes.').waitFor()
    await pressUntil(proceed(page), async () => (await noticesOf(page)).length > 0)
    expect(await noticesOf(page)).toEqual(['The plan was approved.'])
  })

  it('still asks after Obsidian was closed', async () => {
    const page = await openVault()
    await runCommand(page)
    await proceed(page).waitFor()
    await page.reload()
    await page.getByText('Move old notes.').waitFor()
    const approved = page.getByText(/^Plan approved/u)
    await pressUntil(proceed(page), () => approved.isVisible())
    await page.reload()
    await expect.poll(() => page.getByText('All caught up.').isVisible()).toBe(true)
  })
})
