import { builtinModules } from 'node:module'
import { describe, expect, it } from 'vitest'
import { packageFolders } from './workspace.js'

const portable = ['packages/protocol', 'packages/core', 'packages/client', 'packages/store-indexeddb']
const nodeGlobals = ['process', 'Buffer', 'require', '__dirname', '__filename', 'setImmediate']

const packages = packageFolders().filter(({ path }) => portable.includes(path))

it.each(portable)('%s is checked', (path) => {
  expect(packages.find((folder) => folder.path === path)?.files).not.toHaveLength(0)
})

describe.each(packages.map(({ path, files }) => [path, files.filter((file) => !file.isTest)] as const))(
  '%s runs outside Node',
  (_path, files) => {
    it('imports no built-in module of Node', () => {
      const builtins = files.flatMap(({ path, imports }) =>
        imports.filter(isBuiltin).map((specifier) => `${path}: ${specifier}`),
      )
      expect(builtins).toEqual([])
    })

    it('uses no global of Node', () => {
      const used = files.flatMap(({ path, globals }) =>
        globals.filter((name) => nodeGlobals.includes(name)).map((name) => `${path}: ${name}`),
      )
      expect(used).toEqual([])
    })
  },
)

function isBuiltin(specifier: string): boolean {
  return specifier.startsWith('node:') || builtinModules.includes(specifier)
}
