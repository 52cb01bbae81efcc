import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { type Manifest, packageFolders, root } from '../architecture/workspace.js'
import { run } from './packages.js'

const folder = mkdtempSync(join(tmpdir(), 'askback-release-'))
afterAll(() => rmSync(folder, { recursive: true }))

interface Versioned extends Manifest {
  readonly version: string
}

it('a change of one package raises the version of all, and of what they depend on', () => {
  const paths = packageFolders().map(({ path }) => path)
  for (const path of ['.', ...paths]) {
    mkdirSync(join(folder, path), { recursive: true })
    cpSync(join(root, path, 'package.json'), join(folder, path, 'package.json'))
  }
  mkdirSync(join(folder, '.changeset'))
  cpSync(join(root, '.changeset/config.json'), join(folder, '.changeset/config.json'))
  writeFileSync(join(folder, 'package-lock.json'), '{}')
  writeFileSync(join(folder, '.changeset/a.md'), "---\n'@askback/core': minor\n---\n\nDesks can do more.\n")
  const git = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com']
  run('git', ['init', '--quiet', '--initial-branch', 'main'], { cwd: folder })
  run('git', ['add', '--all'], { cwd: folder })
  run('git', [...git, 'commit', '--quiet', '--message', 'all'], { cwd: folder })
  const before = manifestOf('packages/core').version

  run(process.execPath, [join(root, 'node_modules/@changesets/cli/bin.js'), 'version'], { cwd: folder })

  const { version } = manifestOf('packages/core')
  expect(version).not.toBe(before)
  const manifests = paths.map(manifestOf)
  expect(manifests.filter((manifest) => manifest.version !== version)).toEqual([])
  const ours = manifests.flatMap(({ dependencies, devDependencies }) =>
    Object.entries({ ...dependencies, ...devDependencies }).filter(([name]) => name.startsWith('@askback/')),
  )
  expect(ours.length).toBeGreaterThan(paths.length)
  expect(ours.filter(([, range]) => range !== version)).toEqual([])
  expect(readFileSync(join(folder, 'packages/core/CHANGELOG.md'), 'utf8')).toContain('Desks can do more.')
})

function manifestOf(path: string): Versioned {
  return JSON.parse(readFileSync(join(folder, path, 'package.json'), 'utf8')) as Versioned
}
