import { builtinModules } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  leaves,
  packageOf,
  packageRooms,
  rootManifest,
  rootRooms,
  type Manifest,
  type Room,
} from './workspace.js'

const everything = 'everything'

/** Which of our packages each room may see, itself aside. */
const mayUse: Record<string, readonly string[] | typeof everything> = {
  'packages/protocol': [],
  'packages/core': ['protocol'],
  'packages/store-sqlite': ['protocol', 'core'],
  'packages/store-postgres': ['protocol', 'core'],
  'packages/gateway': ['protocol', 'core'],
  'packages/agents': ['protocol', 'core'],
  'packages/connectors': ['protocol', 'core'],
  'packages/client': ['protocol'],
  'packages/react': ['protocol', 'client'],
  'packages/cli': everything,
  'apps/web': ['protocol', 'client', 'react'],
  'apps/playground': everything,
}

/** Which of its neighbours each folder of a package may see. What lies beside the folders may be seen by all of them. */
const folders: Record<string, Record<string, readonly string[]>> = {
  'packages/core': {
    kinds: [],
    store: [],
    decide: ['kinds', 'store'],
    adopt: ['store', 'decide'],
    desk: ['kinds', 'store', 'decide', 'adopt'],
    cluster: ['store'],
    agents: ['store', 'decide', 'desk', 'cluster'],
    connectors: ['kinds', 'store', 'desk', 'agents'],
  },
  'packages/client': {
    layout: [],
    transport: [],
    stores: ['layout', 'transport'],
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
  // One adapter knows nothing of another.
  'packages/agents': {
    program: [],
    session: ['program'],
    claude: ['program', 'session'],
    codex: ['program', 'session'],
    acp: ['program', 'session'],
    // Its permission tool speaks to Claude Code.
    mcp: ['session', 'claude'],
    adopt: [],
    demo: [],
  },
}

const ours = '@askback/'
const packages = packageRooms()

describe.each(packages.map((room) => [room.path, room] as const))('%s', (path, room) => {
  it('has a place in the dependency direction', () => {
    expect(Object.keys(mayUse)).toContain(path)
  })

  it('imports only packages below it', () => {
    expect(importsOf(room).filter(({ name }) => !allowed(room, name))).toEqual([])
  })

  it('declares only packages below it', () => {
    expect(declared(room.manifest, true).filter((name) => !allowed(room, name))).toEqual([])
  })

  it('declares every package it imports', () => {
    const forSource = declared(room.manifest, false)
    const forTests = [...declared(room.manifest, true), ...declared(rootManifest, true)]
    const undeclared = importsOf(room).filter(
      ({ name, isTest }) => name !== room.manifest.name && !(isTest ? forTests : forSource).includes(name),
    )
    expect(undeclared).toEqual([])
  })

  it('reaches other packages by name, never by path', () => {
    const outside = room.files.flatMap((file) =>
      file.imports
        .filter((specifier) => leaves(room, file, specifier))
        .map((specifier) => `${file.path}: ${specifier}`),
    )
    expect(outside).toEqual([])
  })
})

describe.each(Object.entries(folders))('%s', (path, neighbours) => {
  const files = packages.find((room) => room.path === path)?.files.filter(({ isTest }) => !isTest) ?? []
  // Beside the folders lies what all may see, and the index, which sees all.
  const folderOf = (file: string) => /^[^/]+\/[^/]+\/src\/([^/]+)\//.exec(file)?.[1] ?? ''
  const inside = files.filter(
    (file) => folderOf(file.path) !== 'testing' && !file.path.endsWith('src/index.ts'),
  )

  it.each(Object.entries({ ...neighbours, '': [] }))('%s sees only what it may', (folder, others) => {
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
  })

  it('has no other folders', () => {
    const found = new Set(inside.map((file) => folderOf(file.path)).filter((name) => name !== ''))
    expect([...found].toSorted()).toEqual(Object.keys(neighbours).toSorted())
  })
})

it('the root declares every package its tests, benchmarks and scripts import', () => {
  const known = [...declared(rootManifest, true), ...packages.map((room) => room.manifest.name)]
  const undeclared = rootRooms().flatMap((room) =>
    importsOf(room).filter(({ name }) => ![...known, ...declared(room.manifest, true)].includes(name)),
  )
  expect(undeclared).toEqual([])
})

function importsOf(room: Room): { file: string; name: string; isTest: boolean }[] {
  return room.files.flatMap(({ path, isTest, imports }) =>
    imports
      .map(packageOf)
      .filter((name) => name !== undefined && !builtinModules.includes(name))
      .map((name) => ({ file: path, name: name ?? '', isTest })),
  )
}

function allowed(room: Room, name: string): boolean {
  if (!name.startsWith(ours) || name === room.manifest.name) return true
  const below = mayUse[room.path] ?? []
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
