import { startPostgres, type PostgresServer } from '@askback/store-postgres/testing'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packageFolders, root } from '../architecture/workspace.js'
import { runSample } from './run-sample.js'

const packages = packageFolders()
  .map(({ path }) => path)
  .filter((path) => path.startsWith('packages/'))
const rootReadme = readFileSync(join(root, 'README.md'), 'utf8')

describe.each(packages)('the README of %s', (path) => {
  const { manifest } = packageFolders().find((folder) => folder.path === path)!
  const text = readFileSync(join(root, path, 'README.md'), 'utf8')

  it('is linked from the README of the repository', () => {
    expect(rootReadme).toContain(`](${path}/README.md)`)
  })

  it('names every entry point', () => {
    const { exports = {} } = manifest as { exports?: Record<string, unknown> }
    const entries = Object.keys(exports).map((entry) => `\`${join(manifest.name, entry)}\``)
    expect(entries.filter((entry) => !text.includes(entry))).toEqual([])
  })

  it('links to files that exist, among them PROTOCOL.md', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/gu)].map(([, link = '']) => link)
    expect(links).toContain('../../docs/PROTOCOL.md')
    expect(links.filter((link) => !existsSync(join(root, path, link)))).toEqual([])
  })
})

it('CONTRIBUTING.md names files and links that exist', () => {
  const text = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')
  const files = [...text.matchAll(/`((?:packages|tests)\/[\w./-]+)`/gu)].map(([, path = '']) => path)
  const links = [...text.matchAll(/\]\(([^)#]+)[^)]*\)/gu)].map(([, link = '']) => link)
  expect(files).toContain('packages/core/src/store/store.ts')
  expect([...files, ...links].filter((path) => !existsSync(join(root, path)))).toEqual([])
})

describe('the sample in the README prints what the README says', () => {
  const folder = mkdtempSync(join(tmpdir(), 'askback-readme-'))
  let postgres: PostgresServer

  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(async () => {
    await postgres.remove()
    rmSync(folder, { recursive: true })
  })

  it.each(['agents', 'client', 'connectors', 'core', 'gateway', 'protocol', 'testing'])(
    'of %s',
    async (name) => {
      await expectAsSaid(`packages/${name}/README.md`)
    },
  )

  it('of store-sqlite', async () => {
    await expectAsSaid('packages/store-sqlite/README.md', { 'askback.db': join(folder, 'askback.db') })
  })

  it('of store-postgres', async () => {
    await expectAsSaid('packages/store-postgres/README.md', {
      'postgres://askback@localhost/askback': postgres.url(),
    })
  })
})

async function expectAsSaid(document: string, replacements: Record<string, string> = {}): Promise<void> {
  const { printed, expected } = await runSample(document, { replacements })
  expect(expected).not.toEqual([])
  expect(printed).toEqual(expected)
}
