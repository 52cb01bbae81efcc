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

/** Which of its neighbours each folder of the agents may see: one adapter knows nothing of another. */
const agentFolders: Record<string, readonly string[]> = {
  program: [],
  session: ['program'],
  claude: ['program', 'session'],
  codex: ['program', 'session'],
  acp: ['program', 'session'],
  // Its permission tool speaks to Claude Code.
  mcp: ['session', 'claude'],
  adopt: [],
  demo: [],
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

describe('packages/agents', () => {
  const files = packages.find(({ path }) => path === 'packages/agents')?.files ?? []
  const folderOf = (path: string) => path.split('/')[3] ?? ''

  it.each(Object.entries(agentFolders))('%s sees only what it may', (folder, neighbours) => {
    const own = files.filter(({ path }) => folderOf(path) === folder)
    const seen = own.flatMap(({ path, imports }) =>
      imports
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => folderOf(join(dirname(path), specifier))),
    )
    expect(own.length).toBeGreaterThan(0)
    expect(seen.filter((name) => name !== folder && !neighbours.includes(name))).toEqual([])
  })

  it('has no other folders', () => {
    expect(new Set(files.map(({ path }) => folderOf(path)))).toEqual(new Set(Object.keys(agentFolders)))
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
