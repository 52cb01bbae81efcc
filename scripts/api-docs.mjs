// Writes `docs/api`: the API reference as Markdown, from the TSDoc comments of everything that the packages export. It is not checked in,
// because it is long and follows from the sources. `tests/api-docs` checks that it can be made, and that each export has a summary.
//
//   npm run docs:api              needs `npm ci` in tools
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { builtTypes } from './api-report.mjs'
import { root } from './workspace.mjs'

/**
 * The part of typedoc that is used here. Its own types are in `tools`, where the compiler of the workspace does not look.
 *
 * @typedef {{ kind: number; name: string; comment?: { summary: unknown[] }; signatures?: Item[]; children?: Item[]; type?: { declaration?: Item } }} Item
 * @typedef {{ children: Item[]; getSymbolIdFromReflection(item: Item): { packageName: string; packagePath: string } }} Project
 * @typedef {{ log(message: string, level: number): void }} Logger
 * @typedef {{ logger: Logger; convert(): Promise<Project | undefined>; validate(project: Project): void; generateOutputs(project: Project): Promise<void> }} App
 * @typedef {{ Application: { bootstrapWithPlugins(options: object): Promise<App> }; ReflectionKind: { Reference: number }; LogLevel: { Warn: number } }} TypeDoc
 */

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const out = join(root, 'docs/api')
  const { warnings } = await writeApiDocs(out)
  for (const warning of warnings) console.error(warning)
  if (warnings.length > 0) process.exit(1)
  console.log(`The API reference is in ${out}`)
}

/**
 * Writes one file for each entry point. Returns the warnings of the generator, and the exports without a summary, like
 * `@askback/core createDesk`. The compiler of the workspace has no API, so the one in `tools` reads the declarations.
 *
 * @param {string} out
 */
export async function writeApiDocs(out) {
  const { resolve } = createRequire(join(root, 'tools/package.json'))
  /** @type {TypeDoc} */
  const typedoc = await import(pathToFileURL(resolve('typedoc')).href)
  const entries = entryPoints()
  const app = await typedoc.Application.bootstrapWithPlugins({
    plugin: [resolve('typedoc-plugin-markdown')],
    name: 'Askback',
    entryPoints: [...entries.values()],
    tsconfig: join(root, 'tools/tsconfig.json'),
    out,
    excludeInternal: true,
    excludeExternals: true,
    disableSources: true,
    readme: 'none',
    outputFileStrategy: 'modules',
    hidePageHeader: true,
    logLevel: typedoc.LogLevel.Warn,
    // Types that are not exported are written out where they are used.
    validation: { notExported: false, invalidLink: true, notDocumented: false },
  })
  /** @type {string[]} */
  const warnings = []
  app.logger.log = (message, level) => void (level >= typedoc.LogLevel.Warn && warnings.push(message))
  const project = await app.convert()
  if (!project) throw new Error(`The declarations cannot be read: ${warnings.join('\n')}`)
  app.validate(project)
  const names = new Map([...entries].map(([name, file]) => [file, name]))
  for (const module of project.children) {
    const { packageName, packagePath } = project.getSymbolIdFromReflection(module)
    const folder = packageName.replace('@askback/', '')
    module.name = names.get(join(root, 'packages', folder, packagePath)) ?? module.name
  }
  await app.generateOutputs(project)
  const undocumented = project.children.flatMap(({ name, children = [] }) =>
    children
      .filter(({ kind }) => kind !== typedoc.ReflectionKind.Reference)
      .filter((item) => !hasSummary(item) && !children.some((other) => isSchemaOf(item, other)))
      .map((item) => `${name} ${item.name}`),
  )
  return { warnings, undocumented }
}

/** @param {Item} item */
function hasSummary(item) {
  const declared = [item, ...(item.signatures ?? []), ...(item.type?.declaration?.signatures ?? [])]
  return declared.some(({ comment }) => comment !== undefined && comment.summary.length > 0)
}

/**
 * Whether a type is that of a documented schema: `QuestionRequest` of `questionRequest`.
 *
 * @param {Item} type
 * @param {Item} schema
 */
function isSchemaOf({ name }, schema) {
  return (
    schema.name === name.charAt(0).toLowerCase() + name.slice(1) && schema.name !== name && hasSummary(schema)
  )
}

/** The files with the declarations of each entry point, by its name. The entry of icons is generated, and each icon is what its name says. */
function entryPoints() {
  /** @type {Map<string, string>} */
  const entries = new Map()
  for (const folder of readdirSync(join(root, 'packages'))) {
    const path = join(root, 'packages', folder, 'package.json')
    if (!existsSync(path)) continue
    /** @type {{ name: string; exports?: Record<string, string | { types?: string }> }} */
    const { name, exports = {} } = JSON.parse(readFileSync(path, 'utf8'))
    for (const [entry, target] of Object.entries(exports)) {
      if (typeof target === 'string' || target.types === undefined) continue
      if (entry !== './internal' && entry !== './icons')
        entries.set(`${name}${entry.slice(1)}`, join(root, 'packages', folder, builtTypes(target.types)))
    }
  }
  return entries
}
