import { parseSync, Visitor } from 'rolldown/utils'
import { expect, it } from 'vitest'
import { sourceTexts, type SourceText } from './workspace.js'

/** Names that several files may declare, because the declarations mean the same, each with its reason. */
const sharedMeanings: Record<string, string> = {
  InboxPage: 'the page that the desk returns, and the same page on the wire',
  InteractionColumns: 'the columns that each database store selects',
  SessionColumns: 'the columns that each database store selects',
  SessionSnapshot: 'the snapshot that the desk returns, and the same snapshot on the wire',
}

const declarations = declaredTypes(
  sourceTexts().filter(({ path, isTest }) => !isTest && /^(packages|apps)\//.test(path)),
)

it('a type name is declared in one file', () => {
  const repeated = [...declarations].filter(([name, files]) => files.size > 1 && !(name in sharedMeanings))
  expect(Object.fromEntries(repeated.map(([name, files]) => [name, [...files]]))).toEqual({})
})

it('every exception is still needed', () => {
  const exceptions = Object.keys(sharedMeanings)
  expect(exceptions.filter((name) => (declarations.get(name)?.size ?? 0) < 2)).toEqual([])
})

it('declarations in functions and classes count, but uses do not', () => {
  const found = declaredTypes([
    { path: 'a.ts', isTest: false, text: 'export interface A { b: B }; export class C extends D {}' },
    {
      path: 'b.ts',
      isTest: false,
      text: 'import type { A } from "./a.js"; function f() { type E = A; enum F {} }',
    },
  ])
  expect([...found]).toEqual([
    ['A', new Set(['a.ts'])],
    ['C', new Set(['a.ts'])],
    ['E', new Set(['b.ts'])],
    ['F', new Set(['b.ts'])],
  ])
})

/** The files that declare an interface, type alias, class or enum, by its name. */
function declaredTypes(sources: readonly SourceText[]): Map<string, Set<string>> {
  const files = new Map<string, Set<string>>()
  for (const { path, text } of sources) {
    const declare = ({ id }: { id: { name: string } | null }) => {
      if (id) files.set(id.name, (files.get(id.name) ?? new Set()).add(path))
    }
    new Visitor({
      TSInterfaceDeclaration: declare,
      TSTypeAliasDeclaration: declare,
      TSEnumDeclaration: declare,
      ClassDeclaration: declare,
    }).visit(parseSync(path, text).program)
  }
  return files
}
