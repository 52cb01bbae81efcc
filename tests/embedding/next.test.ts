import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root } from '../architecture/workspace.js'
import { newPage } from '../e2e/web/browser.js'
import { expectThemes } from '../e2e/web/themed-page.js'
import { serveFolder } from './served-folder.js'

/** Next.js takes ten seconds, and minutes on a machine that is busy. */
const BUILD_MS = 600_000

const app = join(import.meta.dirname, 'next-app')

describe('a Next.js app with all defaults', () => {
  let address: string

  beforeAll(async () => {
    run(join(root, 'node_modules/.bin/tsc'), ['-b', 'packages/react'], root)
    run(join(import.meta.dirname, 'node_modules/.bin/next'), ['build'], app)
    address = await serveFolder(join(app, 'dist'))
  }, BUILD_MS)
  afterAll(() => {
    for (const output of ['.next', 'dist']) rmSync(join(app, output), { recursive: true, force: true })
  })

  it.each(['light', 'dark'] as const)(
    'draws the components from a server component, with their theme on a %s system',
    async (colorScheme) => {
      const page = await newPage({ colorScheme })
      await page.goto(address)
      // What the server drew runs in the browser: it noticed that there is no gateway.
      await expect.poll(() => page.getByText(/cannot be reached/).isVisible()).toBe(true)
      await expectThemes(page, colorScheme)
    },
  )
})

function run(command: string, args: string[], cwd: string): void {
  const env = { ...process.env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' }
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} failed:\n${stdout}${stderr}`)
}
