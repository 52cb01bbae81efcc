import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { packageRooms, readJson } from './workspace.js'

interface TypeScriptProject {
  readonly references?: readonly { readonly path: string }[]
}

const rooms = packageRooms()

describe.each(rooms.map((room) => [room.path, room] as const))('%s', (path, room) => {
  it.each(['tsconfig.build.json', 'tsconfig.tests.json'])('is part of %s', (project) => {
    expect(referencesOf('.', project)).toContain(path)
  })

  it('is built after the packages it depends on', () => {
    const below = rooms.filter(({ manifest }) => manifest.name in (room.manifest.dependencies ?? {}))
    expect(referencesOf(path, 'tsconfig.json')).toEqual(
      expect.arrayContaining(below.map((other) => other.path)),
    )
  })
})

function referencesOf(folder: string, project: string): string[] {
  const { references = [] } = readJson<TypeScriptProject>(join(folder, project))
  return references.map((reference) => relative('.', join(folder, reference.path)))
}
