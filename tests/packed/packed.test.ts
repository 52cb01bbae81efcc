import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { checkPackage, createPackageFromTarballData, type Problem } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newPage } from '../e2e/web/browser.js'
import { takeTour } from '../e2e/web/tour.js'
import {
  diskBytes,
  environment,
  filesOf,
  install,
  installAll,
  installedPackages,
  packAll,
  run,
  serveInstalled,
  type PackedPackage,
} from './packages.js'

/** As `du` counts. */
const MB = 2 ** 20

let packages: PackedPackage[] = []
/** A folder with nothing but the command, and one with everything. */
const command = mkdtempSync(join(tmpdir(), 'askback-installed-'))
let everything = ''
let installSeconds = 0

// Builds and packs everything, and installs its dependencies from the registry. Under load that takes minutes.
beforeAll(async () => {
  packages = await packAll()
  const started = performance.now()
  install(
    packages.filter(({ manifest }) => manifest.name === 'askback'),
    command,
  )
  installSeconds = (performance.now() - started) / 1000
  everything = await installAll()
}, 600_000)
afterAll(() => rmSync(command, { recursive: true, force: true }))

describe('the installed command', () => {
  it('runs on this version of Node.js, without the overrides of the workspace', () => {
    const version = run(join(command, 'node_modules/.bin/askback'), ['--version'], {
      env: environment(command),
    })
    expect(version).toMatch(/^\d+\.\d+\.\d+/)
  })

  it('consists of at most 110 packages and 50 MB', () => {
    const installed = installedPackages(command)
    expect(installed).toContain('node_modules/askback')
    expect(installed.length).toBeLessThanOrEqual(110)
    expect(diskBytes(join(command, 'node_modules'))).toBeLessThanOrEqual(50 * MB)
  })

  it('serves the web app with its tour, and the playground', async () => {
    const { openUrl, url, stop } = await serveInstalled(command)
    try {
      const page = await newPage()
      await page.goto(openUrl)
      // The address logs in, and then goes on to the app.
      await page.getByRole('button', { name: 'Take the tour' }).waitFor()
      await takeTour(page)
      await page.goto(`${url}/playground.html`)
      await page.getByText(/all run in your browser/).waitFor()
      await page.getByRole('button', { name: 'Take the tour' }).click()
      await page.getByRole('radio', { name: /SQLite/ }).waitFor()
      expect(await page.title()).toContain('Askback')
    } finally {
      await stop()
    }
  })

  it('leads from an empty folder to an answered question, and this test prints how long that takes', async () => {
    const started = performance.now()
    const { stop } = await serveInstalled(command)
    const options = { cwd: command, env: environment(command) }
    try {
      const bin = join(command, 'node_modules/.bin/askback')
      const asked = promisify(execFile)(
        bin,
        ['ask', 'Ship it?', '--option', 'Yes', '--option', 'No'],
        options,
      )
      const pending = () => run(bin, ['pending'], options)
      await expect.poll(pending).toContain('Ship it?')
      run(bin, ['answer', pending().split(' ', 1)[0] ?? '', 'Yes'], options)
      expect((await asked).stdout).toBe('Yes\n')
    } finally {
      await stop()
    }
    const seconds = (performance.now() - started) / 1000
    process.stdout.write(
      `From an empty folder to an answer: ${(installSeconds + seconds).toFixed(1)} s, ${installSeconds.toFixed(1)} s of it npm install.\n`,
    )
  })

  it('contains the production build of the web app', () => {
    const scripts = filesOf(join(command, 'node_modules/askback/web')).filter((file) => file.endsWith('.js'))
    expect(scripts.length).toBeGreaterThan(0)
    expect(scripts.filter((file) => file.includes('/jsx-dev-runtime-'))).toEqual([])
  })

  it('leaves a session at once if nobody can type', async () => {
    const { url, token, stop } = await serveInstalled(command)
    try {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const body = JSON.stringify({ agent: 'demo', title: 'Nobody types' })
      expect(await fetch(`${url}/api/sessions`, { method: 'POST', headers, body })).toMatchObject({
        status: 201,
      })
      const shown = run(join(command, 'node_modules/.bin/askback'), ['attach', '--plain'], {
        env: environment(command),
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      expect(shown).toContain('Attached to Nobody types')
    } finally {
      await stop()
    }
  })

  it('can load each part of its bundle, also those that only some settings need', () => {
    const folder = join(command, 'node_modules/askback/bundle')
    const parts = filesOf(folder).filter((file) => file.endsWith('.mjs') && !file.endsWith('/main.mjs'))
    expect(parts.length).toBeGreaterThan(10)
    const program = `for (const part of ${JSON.stringify(parts)}) await import(part)`
    run('node', ['--input-type=module', '--eval', program], { env: environment(command) })
  })

  it('contains the licence of every package that it is bundled with', () => {
    const notices = readFileSync(join(command, 'node_modules/askback/bundle/LICENSES.txt'), 'utf8')
    const bundled = filesOf(join(command, 'node_modules/askback/bundle')).flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/^\/\/ (?:\.\.\/)+node_modules\/((?:@[^/]+\/)?[^/]+)/gmu)].map(
        ([, name = '']) => name,
      ),
    )
    expect(bundled).toContain('fastify')
    const missing = bundled.filter(
      (name) => !notices.includes(`\n${name} `) && !notices.startsWith(`${name} `),
    )
    expect([...new Set(missing)]).toEqual([])
  })
})

it('all packages together take at most 90 MB, and leave no import unresolved', () => {
  expect(diskBytes(join(everything, 'node_modules'))).toBeLessThanOrEqual(90 * MB)
  const entries = packages.flatMap(({ manifest }) =>
    Object.keys(manifest.exports ?? {})
      // Suites for test runners, styles, and what needs an optional package that is not installed here.
      .filter((entry) => !/\/(?:testing|highlighting|mcp|.*\.css)$/u.test(entry))
      .map((entry) => manifest.name + entry.slice(1)),
  )
  expect(entries.length).toBeGreaterThan(packages.length)
  const program = `for (const entry of ${JSON.stringify(entries)}) await import(entry)`
  run('node', ['--input-type=module', '--eval', program], { cwd: everything, env: environment(everything) })
})

it('every package has what a reader needs and nothing else', () => {
  const needed = ['LICENSE', 'README.md', 'package.json']
  const missing = packages.flatMap(({ folder }) =>
    needed.map((name) => join(folder, name)).filter((file) => !existsSync(file)),
  )
  expect(missing).toEqual([])
  const files = packages.flatMap(({ folder }) => filesOf(folder))
  expect(files.length).toBeGreaterThan(packages.length)
  expect(files.filter((path) => /\.(?:test|fixture)\./u.test(path))).toEqual([])
})

it('no package has source maps, whose sources would take more space than the code', () => {
  const files = packages.flatMap(({ folder }) => filesOf(folder))
  expect(files.filter((file) => file.endsWith('.map'))).toEqual([])
  const code = files.filter((file) => file.endsWith('.js')).map((file) => readFileSync(file, 'utf8'))
  expect(code.filter((text) => text.includes('//# sourceMappingURL='))).toEqual([])
})

it('publint finds no problem in any package', async () => {
  const found = await Promise.all(
    packages.map(async ({ tarball, manifest }) => {
      const bytes = readFileSync(tarball)
      const data = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength)
      const { messages } = await publint({ pack: { tarball: data }, strict: true })
      return messages.map((message) => `${manifest.name}: ${formatMessage(message, manifest)}`)
    }),
  )
  expect(found.flat()).toEqual([])
})

it('the types of every entry point are found where its code is', async () => {
  const withTypes = packages.filter(({ manifest }) => manifest.exports !== undefined)
  expect(withTypes.length).toBeGreaterThan(0)
  const found = await Promise.all(
    withTypes.map(async ({ tarball, manifest: { name } }) => {
      const result = await checkPackage(createPackageFromTarballData(new Uint8Array(readFileSync(tarball))))
      if (!('problems' in result)) return [{ name, problem: 'It has no types.' }]
      return result.problems.filter(concernsModules).map((problem) => ({ name, problem }))
    }),
  )
  expect(found.flat()).toEqual([])
})

/** The packages are ES modules only, so what `require` and resolvers from before Node.js 16 find does not count. */
function concernsModules(problem: Problem): boolean {
  if (!('resolutionKind' in problem)) return true
  const isStyle = 'entrypoint' in problem && problem.entrypoint.endsWith('.css')
  return !isStyle && problem.resolutionKind !== 'node10' && problem.resolutionKind !== 'node16-cjs'
}
