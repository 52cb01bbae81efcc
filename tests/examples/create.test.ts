import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { environment, npmInstall, packAll, run, type PackedPackage } from '../packed/packages.js'
import { answersAt, freePort, startProgram } from './installed-example.js'

const place = mkdtempSync(join(tmpdir(), 'askback-create-'))
afterAll(() => rmSync(place, { recursive: true, force: true }))

it('npm create askback writes a server that can be installed and started', { timeout: 600_000 }, async () => {
  const packages = await packAll()
  const create = packages.find(({ manifest }) => manifest.name === 'create-askback')!
  const bin = join(create.folder, 'bin/create-askback.js')
  run('node', [bin, 'my-app', '--template', 'express'], { cwd: place, env: environment(place) })

  const folder = join(place, 'my-app')
  useTarballs(join(folder, 'package.json'), packages)
  npmInstall(folder)
  const port = await freePort()
  const env = { ...environment(folder), PORT: String(port) }
  startProgram('npm', ['start', '--silent'], { cwd: folder, env })
  const address = `http://127.0.0.1:${port}/askback/`
  await answersAt(address)
  expect(await (await fetch(address)).text()).toContain('<title>Askback</title>')
})

/** Nothing is published here, so npm gets the tarballs in place of the versions. Packages that these depend on get them as well. */
function useTarballs(file: string, packages: readonly PackedPackage[]): void {
  const tarballs = Object.fromEntries(
    packages.map(({ manifest, tarball }) => [manifest.name, `file:${tarball}`]),
  )
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as { dependencies: Record<string, string> }
  const ours = Object.keys(manifest.dependencies).filter((name) => name in tarballs)
  expect(ours).toContain('@askback/gateway')
  const dependencies = { ...manifest.dependencies }
  for (const name of ours) dependencies[name] = tarballs[name]!
  const others = Object.fromEntries(Object.entries(tarballs).filter(([name]) => !ours.includes(name)))
  writeFileSync(file, JSON.stringify({ ...manifest, dependencies, overrides: others }))
}
