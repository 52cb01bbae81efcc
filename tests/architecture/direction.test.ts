import { builtinModules } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  leavesFolder,
  packageOf,
  packageFolders,
  rootManifest,
  rootFolders,
  type Manifest,
  type SourceFolder,
} from './workspace.js'

const everything = 'everything'

/** Which of our packages each package may import. */
const mayUse: Record<string, readonly string[] | typeof everything> = {
  'packages/protocol': [],
  'packages/core': ['protocol'],
  'packages/store-sqlite': ['protocol', 'core'],
  'packages/store-postgres': ['protocol', 'core'],
  'packages/store-indexeddb': ['protocol', 'core'],
  'packages/gateway': ['protocol', 'core'],
  'packages/agents': ['protocol', 'core'],
  'packages/connectors': ['protocol', 'core'],
  'packages/client': ['protocol'],
  'packages/testing': ['protocol', 'client'],
  'packages/react': ['protocol', 'client'],
  'packages/cli': everything,
  'packages/create-askback': [],
  'apps/web': ['protocol', 'client', 'react'],
  'apps/playground': everything,
}

/** Which other folders each folder of a package may import from. All of them may import files that are in `src` itself. */
const folders: Record<string, Record<string, readonly string[]>> = {
  'packages/core': {
    kinds: [],
    store: [],
    decide: ['kinds', 'store'],
    adopt: ['store', 'decide'],
    desk: ['kinds', 'store', 'decide', 'adopt'],
    cluster: ['store'],
    agents: ['store', 'decide', 'desk', 'cluster'],
  },
  'packages/client': {
    layout: [],
    transport: [],
    stores: ['layout', 'transport'],
    asking: ['transport'],
    frameworks: ['asking', 'transport'],
  },
  'packages/react': {
    guard: [],
    content: ['guard'],
    interaction: ['guard', 'content'],
    question: ['guard', 'content', 'interaction'],
    approval: ['guard', 'content', 'interaction'],
    'plan-review': ['guard', 'content', 'interaction'],
    form: ['guard', 'content', 'interaction'],
    kinds: ['content', 'interaction', 'question', 'approval', 'plan-review', 'form'],
    'tool-call': ['content', 'interaction', 'kinds'],
    composer: ['guard', 'content', 'interaction', 'question'],
    conversation: ['content', 'interaction', 'kinds', 'tool-call'],
    inbox: ['content', 'interaction', 'kinds'],
  },
  // Surfaces do not import each other.
  'packages/connectors': {
    cards: [],
    runner: ['cards'],
    telegram: ['cards', 'runner'],
    terminal: ['cards', 'runner'],
    webhook: ['runner'],
  },
  // Adapters do not import each other.
  'packages/agents': {
    program: [],
    session: ['program'],
    claude: ['program', 'session'],
    codex: ['program', 'session'],
    acp: ['program', 'session'],
    // Its permission tool implements the protocol of Claude Code.
    mcp: ['session', 'claude'],
    adopt: ['program'],
    demo: [],
  },
}

const ours = '@askback/'
/** Published as one bundle with what it imports, so users do not install its imports as dependencies. */
const BUNDLED = ['packages/cli']
const packages = packageFolders()

describe.each(packages.map((folder) => [folder.path, folder] as const))('%s', (path, folder) => {
  it('is part of the dependency direction', () => {
    expect(Object.keys(mayUse)).toContain(path)
  })

  it('imports only packages below it', () => {
    expect(importsOf(folder).filter(({ name }) => !allowed(folder, name))).toEqual([])
  })

  it('declares only packages below it', () => {
    expect(declared(folder.manifest, true).filter((name) => !allowed(folder, name))).toEqual([])
  })

  it('declares every package it imports', () => {
    const forSource = declared(folder.manifest, BUNDLED.includes(path))
    const forTests = [...declared(folder.manifest, true), ...declared(rootManifest, true)]
    const undeclared = importsOf(folder).filter(
      ({ name, isTest }) => name !== folder.manifest.name && !(isTest ? forTests : forSource).includes(name),
    )
    expect(undeclared).toEqual([])
  })

  it('reaches other packages by name, never by path', () => {
    const outside = folder.files.flatMap((file) =>
      file.imports
        .filter((specifier) => leavesFolder(folder, file, specifier))
        .map((specifier) => `${file.path}: ${specifier}`),
    )
    expect(outside).toEqual([])
  })
})

describe.each(Object.entries(folders))('%s', (path, neighbours) => {
  const files = packages.find((folder) => folder.path === path)?.files.filter(({ isTest }) => !isTest) ?? []
  // Files in `src` itself belong to no folder. The index and the test helpers may import everything.
  const folderOf = (file: string) => /^[^/]+\/[^/]+\/src\/([^/]+)\//.exec(file)?.[1] ?? ''
  const inside = files.filter(
    (file) => folderOf(file.path) !== 'testing' && !/src\/(?:index|internal|headless)\.ts$/.test(file.path),
  )

  it.each(Object.entries({ ...neighbours, '': [] }))(
    '%s imports only from the folders below it',
    (folder, others) => {
      const seen = inside
        .filter((file) => folderOf(file.path) === folder)
        .flatMap((file) =>
          file.imports
            .filter((specifier) => specifier.startsWith('.'))
            .map((specifier) => join(dirname(file.path), specifier))
            .filter((target) => !['', folder, ...others].includes(folderOf(target)))
            .map((target) => `${file.path}: ${target}`),
        )
      expect(seen).toEqual([])
    },
  )

  it('has no other folders', () => {
    const found = new Set(inside.map((file) => folderOf(file.path)).filter((name) => name !== ''))
    expect([...found].toSorted()).toEqual(Object.keys(neighbours).toSorted())
  })
})

it('the root declares every package its tests, benchmarks and scripts import', () => {
  const known = [...declared(rootManifest, true), ...packages.map((folder) => folder.manifest.name)]
  const undeclared = rootFolders().flatMap((folder) =>
    importsOf(folder).filter(({ name }) => ![...known, ...declared(folder.manifest, true)].includes(name)),
  )
  expect(undeclared).toEqual([])
})

function importsOf(folder: SourceFolder): { file: string; name: string; isTest: boolean }[] {
  return folder.files.flatMap(({ path, isTest, imports }) =>
    imports
      .map(packageOf)
      .filter((name) => name !== undefined && !builtinModules.includes(name))
      .map((name) => ({ file: path, name: name ?? '', isTest })),
  )
}

function allowed(folder: SourceFolder, name: string): boolean {
  if (!name.startsWith(ours) || name === folder.manifest.name) return true
  const below = mayUse[folder.path] ?? []
  return below === everything || below.includes(name.slice(ours.length))
}

function declared(manifest: Manifest, withDev: boolean): string[] {
  return Object.keys({
    ...manifest.dependencies,
    ...manifest.peerDependencies,
    ...manifest.optionalDependencies,
    ...(withDev ? manifest.devDependencies : {}),
  })
}
