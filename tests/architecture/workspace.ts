import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'rolldown/parseAst'

export const root = fileURLToPath(new URL('../..', import.meta.url))

type Dependencies = Record<string, string>

export interface Manifest {
  readonly name: string
  readonly dependencies?: Dependencies
  readonly devDependencies?: Dependencies
  readonly peerDependencies?: Dependencies
  readonly optionalDependencies?: Dependencies
}

/** A folder of source files with its manifest: a package, an app, or one of the root's own folders. */
export interface SourceFolder {
  readonly path: string
  readonly manifest: Manifest
  readonly files: readonly SourceFile[]
}

export interface SourceFile {
  readonly path: string
  readonly isTest: boolean
  readonly imports: readonly string[]
  readonly globals: readonly string[]
}

/** A source file with its text, for checks that look at more than imports. */
export interface SourceText {
  readonly path: string
  readonly isTest: boolean
  readonly text: string
}

export const rootManifest = readManifest('.')

export function packageFolders(): SourceFolder[] {
  return ['packages', 'apps'].flatMap(foldersIn).map((path) => readFolder(path, readManifest(path)))
}

/** `tests`, `bench` and `scripts`, and apart from them each folder of tests that has its own manifest. */
export function rootFolders(): SourceFolder[] {
  const own = foldersIn('tests').map((path) => readFolder(path, readManifest(path)))
  const shared = ['tests', 'bench', 'scripts'].filter(exists).map((path) => readFolder(path, rootManifest))
  const isOwn = ({ path }: SourceFile) => own.some((folder) => path.startsWith(`${folder.path}/`))
  return [
    ...own,
    ...shared.map((folder) => ({ ...folder, files: folder.files.filter((file) => !isOwn(file)) })),
  ]
}

/** Every source file of the repository. */
export function sourceTexts(): SourceText[] {
  return ['packages', 'apps', 'tests', 'bench', 'scripts']
    .filter(exists)
    .flatMap(sourcesIn)
    .toSorted()
    .map((path) => ({ path, isTest: isTest(path), text: readFileSync(join(root, path), 'utf8') }))
}

/** The package a specifier names, or undefined for a relative path or a built-in. */
export function packageOf(specifier: string): string | undefined {
  if (specifier.startsWith('.') || specifier.startsWith('node:')) return undefined
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

/** Whether a relative import of this file points outside of its folder. */
export function leavesFolder(folder: SourceFolder, file: SourceFile, specifier: string): boolean {
  if (!specifier.startsWith('.')) return false
  const target = relative(join(root, folder.path), resolve(root, dirname(file.path), specifier))
  return target.startsWith('..')
}

export function readJson<Shape>(path: string): Shape {
  return JSON.parse(readFileSync(join(root, path), 'utf8')) as Shape
}

function readFolder(path: string, manifest: Manifest): SourceFolder {
  return { path, manifest, files: sourcesIn(path).map(readSource) }
}

function readSource(path: string): SourceFile {
  const source = readFileSync(join(root, path), 'utf8')
  const found = { imports: new Set<string>(), globals: new Set<string>() }
  collect(parseAst(source, { lang: path.endsWith('x') ? 'tsx' : 'ts' }, path), found)
  return {
    path,
    isTest: isTest(path),
    imports: [...found.imports],
    globals: [...found.globals],
  }
}

function isTest(path: string): boolean {
  return /\.(test|config)\./.test(path)
}

interface ReferencedNames {
  readonly imports: Set<string>
  readonly globals: Set<string>
}

/** Walks any syntax tree. Imports, exports, `import()` and `import('x').Y` all have their specifier in `source`. */
function collect(node: unknown, found: ReferencedNames): void {
  if (Array.isArray(node)) return node.forEach((child) => collect(child, found))
  if (!isNode(node)) return
  if (isNode(node.source) && typeof node.source.value === 'string') found.imports.add(node.source.value)
  if (node.type === 'Identifier' && typeof node.name === 'string') found.globals.add(node.name)
  for (const [key, child] of Object.entries(node)) {
    if (!isPropertyName(node, key)) collect(child, found)
  }
}

/** Names after a dot and before a colon are properties: they do not refer to a variable. */
function isPropertyName(node: Node, key: string): boolean {
  if (node.computed === true) return false
  return (
    (node.type === 'MemberExpression' && key === 'property' && !isGlobalThis(node.object)) ||
    (key === 'key' && node.shorthand !== true)
  )
}

function isGlobalThis(node: unknown): boolean {
  return isNode(node) && node.name === 'globalThis'
}

type Node = Record<string, unknown>

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value
}

function sourcesIn(path: string): string[] {
  return readdirSync(join(root, path), { recursive: true, encoding: 'utf8' })
    .map((name) => join(path, name))
    .filter((name) => /\.(ts|tsx|mjs)$/.test(name) && !/(^|\/)(node_modules|dist|bundle)\//.test(name))
}

function foldersIn(path: string): string[] {
  if (!exists(path)) return []
  return readdirSync(join(root, path))
    .map((name) => join(path, name))
    .filter((name) => exists(join(name, 'package.json')))
}

function exists(path: string): boolean {
  return existsSync(join(root, path))
}

function readManifest(path: string): Manifest {
  return readJson<Manifest>(join(path, 'package.json'))
}
