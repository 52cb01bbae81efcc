import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { root } from '../architecture/workspace.js'
import { newPage } from '../e2e/web/browser.js'

/** The packages of this repository that `npm install askback` installs. */
const INSTALLED_PACKAGES = [
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
const PACKAGES = [...INSTALLED_PACKAGES, 'react']

const folder = mkdtempSync(join(tmpdir(), 'askback-packed-'))
const installed = join(folder, 'node_modules/askback')
afterAll(() => rmSync(folder, { recursive: true }))

// Builds and packs everything, and installs its dependencies from the registry. Under load that takes minutes.
beforeAll(() => {
  npm(root, ['run', '--silent', 'build'])
  const workspaces = PACKAGES.flatMap((name) => ['--workspace', `packages/${name}`])
  npm(root, ['pack', '--silent', '--pack-destination', folder, ...workspaces])
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  expect(tarballs()).toHaveLength(PACKAGES.length)
  const toInstall = tarballs().filter((name) => !name.startsWith('askback-react-'))
  expect(toInstall).toHaveLength(INSTALLED_PACKAGES.length)
  npm(folder, [
    'install',
    '--engine-strict',
    '--no-audit',
    '--no-fund',
    ...toInstall.map((name) => `./${name}`),
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

it('every source map of a package finds its sources in the package', () => {
  const maps = tarballs().flatMap((name) => sourceMapsOf(unpack(name)))
  expect(maps.length).toBeGreaterThan(PACKAGES.length)
  expect(maps.flatMap(missingSources)).toEqual([])
})

it('no package contains its tests', () => {
  const files = tarballs().flatMap((name) => filesOf(unpack(name)))
  expect(files.length).toBeGreaterThan(PACKAGES.length)
  expect(files.filter((path) => /\.(?:test|fixture)\./u.test(path))).toEqual([])
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

interface SourceMap {
  readonly sourceRoot?: string
  readonly sources: readonly string[]
  readonly sourcesContent?: readonly (string | null)[]
}

function tarballs(): string[] {
  return readdirSync(folder).filter((name) => name.endsWith('.tgz'))
}

/** Unpacks a tarball, and returns its folder. */
function unpack(tarball: string): string {
  const target = join(folder, 'unpacked', tarball)
  mkdirSync(target, { recursive: true })
  const { status, stderr } = spawnSync('tar', ['-xzf', join(folder, tarball), '-C', target], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`tar failed: ${stderr}`)
  return target
}

function filesOf(path: string): string[] {
  const entries = readdirSync(path, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

function sourceMapsOf(path: string): string[] {
  const maps = filesOf(path).filter((file) => file.endsWith('.map'))
  if (maps.length === 0) throw new Error(`${path} contains no source map.`)
  return maps
}

/** The sources that a map refers to, and that are neither in the map nor in the package. */
function missingSources(map: string): string[] {
  const { sourceRoot = '', sources, sourcesContent = [] } = JSON.parse(readFileSync(map, 'utf8')) as SourceMap
  return sources
    .map((source) => resolve(dirname(map), sourceRoot, source))
    .filter((path, index) => typeof sourcesContent[index] !== 'string' && !existsSync(path))
    .map((path) => `${relative(folder, map)} → ${relative(folder, path)}`)
}

function npm(cwd: string, args: string[]): void {
  const { status, stderr, stdout } = spawnSync('npm', args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, NODE_ENV: 'production' },
  })
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed:\n${stdout}\n${stderr}`)
}
