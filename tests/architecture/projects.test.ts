import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { packageFolders, readJson } from './workspace.js'

interface TypeScriptProject {
  readonly references?: readonly { readonly path: string }[]
}

const packages = packageFolders()

describe.each(packages.map((folder) => [folder.path, folder] as const))('%s', (path, folder) => {
  it.each(['tsconfig.build.json', 'tsconfig.tests.json'])('is part of %s', (project) => {
    expect(referencesOf('.', project)).toContain(path)
  })

  it('is built after the packages it depends on', () => {
    const below = packages.filter(({ manifest }) => manifest.name in (folder.manifest.dependencies ?? {}))
    expect(referencesOf(path, 'tsconfig.json')).toEqual(
      expect.arrayContaining(below.map((other) => other.path)),
    )
  })
})

function referencesOf(folder: string, project: string): string[] {
  const { references = [] } = readJson<TypeScriptProject>(join(folder, project))
  return references.map((reference) => relative('.', join(folder, reference.path)))
}
