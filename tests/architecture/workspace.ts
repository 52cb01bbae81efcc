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

/** A place for source files: a package, an app, or one of the root's own folders. */
export interface Room {
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

export const rootManifest = readManifest('.')

export function packageRooms(): Room[] {
  return ['packages', 'apps'].flatMap(foldersIn).map((path) => readRoom(path, readManifest(path)))
}

/** A folder of tests with a manifest of its own is a room of its own, with what the root has besides. */
export function rootRooms(): Room[] {
  const own = foldersIn('tests').map((path) => readRoom(path, readManifest(path)))
  const shared = ['tests', 'bench', 'scripts'].filter(exists).map((path) => readRoom(path, rootManifest))
  const isOwn = ({ path }: SourceFile) => own.some((room) => path.startsWith(`${room.path}/`))
  return [...own, ...shared.map((room) => ({ ...room, files: room.files.filter((file) => !isOwn(file)) }))]
}

/** The package a specifier names, or undefined for a relative path or a built-in. */
export function packageOf(specifier: string): string | undefined {
  if (specifier.startsWith('.') || specifier.startsWith('node:')) return undefined
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

/** Whether a relative import of this file leaves the folder of its room. */
export function leaves(room: Room, file: SourceFile, specifier: string): boolean {
  if (!specifier.startsWith('.')) return false
  const target = relative(join(root, room.path), resolve(root, dirname(file.path), specifier))
  return target.startsWith('..')
}

export function readJson<Shape>(path: string): Shape {
  return JSON.parse(readFileSync(join(root, path), 'utf8')) as Shape
}

function readRoom(path: string, manifest: Manifest): Room {
  return { path, manifest, files: sourcesIn(path).map(readSource) }
}

function readSource(path: string): SourceFile {
  const source = readFileSync(join(root, path), 'utf8')
  const found = { imports: new Set<string>(), globals: new Set<string>() }
  collect(parseAst(source, { lang: path.endsWith('x') ? 'tsx' : 'ts' }, path), found)
  return {
    path,
    isTest: /\.(test|config)\./.test(path),
    imports: [...found.imports],
    globals: [...found.globals],
  }
}

interface Found {
  readonly imports: Set<string>
  readonly globals: Set<string>
}

/** Walks any syntax tree: `source` is where imports, exports, `import()` and `import('x').Y` keep their specifier. */
function collect(node: unknown, found: Found): void {
  if (Array.isArray(node)) return node.forEach((child) => collect(child, found))
  if (!isNode(node)) return
  if (isNode(node.source) && typeof node.source.value === 'string') found.imports.add(node.source.value)
  if (node.type === 'Identifier' && typeof node.name === 'string') found.globals.add(node.name)
  for (const [key, child] of Object.entries(node)) {
    if (!isPlainName(node, key)) collect(child, found)
  }
}

/** The names after a dot and before a colon do not refer to a variable. */
function isPlainName(node: Node, key: string): boolean {
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
    .filter((name) => /\.(ts|tsx|mjs)$/.test(name) && !/(^|\/)(node_modules|dist)\//.test(name))
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
