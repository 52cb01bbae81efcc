import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { root } from '../architecture/workspace.js'
import { newPage } from '../e2e/web/browser.js'

/** The packages of this repository that `npm install askback` installs. */
const PACKAGES = [
  'protocol',
  'core',
  'store-sqlite',
  'store-postgres',
  'gateway',
  'client',
  'agents',
  'connectors',
  'cli',
]

const folder = mkdtempSync(join(tmpdir(), 'askback-packed-'))
const installed = join(folder, 'node_modules/askback')
afterAll(() => rmSync(folder, { recursive: true }))

// Builds and packs everything, and installs its dependencies from the registry. Under load that takes minutes.
beforeAll(() => {
  npm(root, ['run', '--silent', 'build'])
  const workspaces = PACKAGES.flatMap((name) => ['--workspace', `packages/${name}`])
  npm(root, ['pack', '--silent', '--pack-destination', folder, ...workspaces])
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  const tarballs = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
  expect(tarballs).toHaveLength(PACKAGES.length)
  npm(folder, [
    'install',
    '--engine-strict',
    '--no-audit',
    '--no-fund',
    ...tarballs.map((name) => `./${name}`),
  ])
}, 600_000)

it('installs on this version of Node.js without the overrides of the workspace', () => {
  const { status, stdout } = spawnSync(join(folder, 'node_modules/.bin/askback'), ['--version'], {
    encoding: 'utf8',
  })
  expect({ status, stdout }).toEqual({
    status: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+/) as unknown,
  })
})

it('leaves no copy of the web app in the workspace, which would be served instead of a newer build', () => {
  expect(existsSync(join(root, 'packages/cli/web'))).toBe(false)
})

it('contains the web app and serves it', async () => {
  expect(existsSync(join(installed, 'web/index.html'))).toBe(true)
  const child = spawn(
    join(folder, 'node_modules/.bin/askback'),
    ['serve', '--json', '--no-open', '--port', '0', '--data', join(folder, 'data')],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  try {
    const line = await new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stdout }).once('line', resolve)
      child.once('exit', (code) => reject(new Error(`askback serve ended with ${code}.`)))
    })
    const { openUrl } = JSON.parse(line) as { openUrl: string }
    const page = await newPage()
    await page.goto(openUrl)
    await page.getByRole('button', { name: 'Take the tour' }).click()
    await page.getByText('scripted demo agent').first().waitFor()
  } finally {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    await ended
  }
})

function npm(cwd: string, args: string[]): void {
  const { status, stderr, stdout } = spawnSync('npm', args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, NODE_ENV: 'production' },
  })
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed:\n${stdout}\n${stderr}`)
}
