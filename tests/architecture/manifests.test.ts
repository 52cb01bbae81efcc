import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Manifest, packageFolders, readJson, root } from './workspace.js'

interface PublishedManifest extends Manifest {
  readonly description?: string
  readonly keywords?: readonly string[]
  readonly homepage?: string
  readonly bugs?: string
  readonly author?: string
  readonly license?: string
  readonly publishConfig?: { readonly access: string; readonly provenance: boolean }
  readonly repository?: { readonly url: string; readonly directory: string }
}

/** Why these are exact is in `docs/decisions/2026-11-18-packages.md`. */
const EXACT_DEPENDENCIES = ['light-my-request']

const packages = packageFolders().filter(({ path }) => path.startsWith('packages/'))

describe.each(packages.map(({ path }) => path))('the manifest of %s', (path) => {
  const manifest = readJson<PublishedManifest>(join(path, 'package.json'))

  it('says what the package is and where its source is', () => {
    expect(manifest).toMatchObject({
      description: expect.stringMatching(/^.{20,120}$/u) as unknown,
      keywords: expect.arrayContaining(['askback']) as unknown,
      homepage: expect.stringContaining(path) as unknown,
      bugs: expect.stringContaining('/issues') as unknown,
      author: expect.stringMatching(/./u) as unknown,
      license: 'Apache-2.0',
      repository: { url: expect.stringMatching(/^git\+https:.*\.git$/u) as unknown, directory: path },
    })
  })

  it('is published for everybody, with a proof of where it was built', () => {
    expect(manifest.publishConfig).toEqual({ access: 'public', provenance: true })
  })

  it('is accompanied by the licence', () => {
    const [ours, copy] = ['LICENSE', join(path, 'LICENSE')].map((file) =>
      readFileSync(join(root, file), 'utf8'),
    )
    expect(copy).toBe(ours)
  })

  it('depends on ranges of the packages of others', () => {
    const exact = Object.entries(manifest.dependencies ?? {}).filter(
      ([name, version]) => !name.startsWith('@askback/') && !version.startsWith('^'),
    )
    expect(exact.map(([name]) => name).filter((name) => !EXACT_DEPENDENCIES.includes(name))).toEqual([])
  })
})

it('the examples use the packages of this version', () => {
  const { version } = readJson<{ version: string }>('packages/core/package.json')
  const examples = readdirSync(join(root, 'examples')).filter((name) => !name.endsWith('.md'))
  const ranges = examples.flatMap((name) => {
    const { dependencies = {}, devDependencies = {} } = readJson<Manifest>(`examples/${name}/package.json`)
    return Object.entries({ ...dependencies, ...devDependencies })
      .filter(([dependency]) => /^(?:@askback\/.*|askback)$/u.test(dependency))
      .map(([dependency, range]) => ({ name, dependency, range }))
  })
  expect(ranges.length).toBeGreaterThan(examples.length)
  expect(ranges.filter(({ range }) => range !== `^${version}`)).toEqual([])
})
