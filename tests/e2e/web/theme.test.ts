import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'vite'
import { afterAll, describe, expect, it } from 'vitest'
import { root } from '../../architecture/workspace.js'
import { newPage } from './browser.js'
import { colorsOf, DARK, expectThemes, LIGHT } from './themed-page.js'

const styles = join(root, 'packages/react/styles')

const page = `<!doctype html>
<link rel="stylesheet" href="./styles.css" />
<body>
  <div class="ab-card" id="system"></div>
  <div data-theme="light"><div class="ab-card" id="light"></div></div>
  <div data-theme="dark"><div class="ab-card" id="dark"></div></div>
</body>`

describe('the theme of the components, bundled with the defaults of Vite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'askback-theme-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'index.html'), page)
  writeFileSync(join(folder, 'styles.css'), `@import '${join(styles, 'index.css')}';`)
  await build({ root: folder, base: './', logLevel: 'error', build: { modulePreload: false } })
  const assets = join(folder, 'dist/assets')
  const css = readdirSync(assets)
    .map((name) => readFileSync(join(assets, name), 'utf8'))
    .join('\n')
  const html = page.replace(/<link.*\n/u, `<style>${css}</style>`)

  it.each(['light', 'dark'] as const)(
    'follows a %s system, and data-theme on any element',
    async (system) => {
      const browserPage = await newPage({ colorScheme: system })
      await browserPage.setContent(html)
      await expectThemes(browserPage, system)
      for (const [theme, expected] of [
        ['light', LIGHT],
        ['dark', DARK],
      ] as const) {
        await browserPage.evaluate((value) => (document.documentElement.dataset['theme'] = value), theme)
        await expect.poll(() => colorsOf(browserPage, 'system')).toEqual(expected)
      }
    },
  )
})

it('a page overrides a color with one rule on its root, in both themes', async () => {
  const tokens = readFileSync(join(styles, 'tokens.css'), 'utf8')
  for (const colorScheme of ['light', 'dark'] as const) {
    const browserPage = await newPage({ colorScheme })
    await browserPage.setContent(
      `<style>:root { --ab-line: red }</style><style>${tokens}</style><body></body>`,
    )
    const line = () =>
      browserPage.evaluate(() => getComputedStyle(document.body).getPropertyValue('--ab-line'))
    await expect.poll(line).toBe('red')
  }
})

it('both dark blocks set the same values', () => {
  const tokens = readFileSync(join(styles, 'tokens.css'), 'utf8')
  const [system, chosen] = ["data-theme='light'])) {", "[data-theme='dark']) {"].map((selector) =>
    (tokens.split(selector)[1] ?? '').split('}', 1)[0]?.replaceAll(/\s+/g, ' ').trim(),
  )
  expect(system).toContain('--ab-page: #131316;')
  expect(system).toBe(chosen)
})
