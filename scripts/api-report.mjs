// Writes `api-report.md` of each package: every public declaration, without comments, in the order of names. It is checked in, so that a
// change of the public surface shows in a diff. `tests/architecture/api-report.test.ts` fails if a report is out of date.
//
//   npm run api-report            needs the declarations that `tsc -b` makes
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from './workspace.mjs'

/** @typedef {{ name: string; text: string; isInternal: boolean }} Declaration */

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { path, report } of apiReports()) writeFileSync(join(root, path), report)
}

/** @returns {{ path: string; report: string }[]} */
export function apiReports() {
  return readdirSync(join(root, 'packages')).flatMap((name) => {
    const folder = join(root, 'packages', name)
    if (!existsSync(join(folder, 'package.json'))) return []
    /** @type {{ name: string; exports?: Record<string, string | { types?: string }> }} */
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const entries = Object.entries(manifest.exports ?? {}).flatMap(([entry, target]) =>
      typeof target === 'object' && target.types !== undefined
        ? [{ entry, types: join(folder, builtTypes(target.types)) }]
        : [],
    )
    if (entries.length === 0) return []
    const sections = entries.map(({ entry, types }) => section(`${manifest.name}${entry.slice(1)}`, types))
    return [{ path: `packages/${name}/api-report.md`, report: `# Public API\n\n${sections.join('\n')}` }]
  })
}

/** The declarations that the compiler makes, also of an entry point that is bundled when its package is packed. @param {string} types */
export function builtTypes(types) {
  return types.replace(/^\.\/bundle\/(.*)\.d\.mts$/u, './dist/$1.d.ts')
}

/**
 * @param {string} title
 * @param {string} file
 */
function section(title, file) {
  const exported = exportsOf(file)
  const names = [...exported.keys()].sort((one, other) => (one < other ? -1 : 1))
  const isInternal = (/** @type {string} */ name) =>
    exported.get(name)?.some((each) => each.isInternal) ?? false
  const visible = names.filter((name) => !isInternal(name))
  const texts = visible.flatMap((name) => exported.get(name)?.map(({ text }) => text) ?? [])
  const internal = names.filter(isInternal)
  const note =
    internal.length > 0
      ? `\nInternal, without promises: ${internal.map((name) => `\`${name}\``).join(', ')}.\n`
      : ''
  return `## ${title}\n\n\`\`\`ts\n${texts.join('\n\n')}\n\`\`\`\n${note}`
}

/**
 * The declarations that a module exports, by name; several for overloads.
 *
 * @param {string} file
 * @returns {Map<string, Declaration[]>}
 */
function exportsOf(file) {
  const statements = statementsOf(readFileSync(file, 'utf8'))
  /** @type {Map<string, Declaration[]>} */
  const local = new Map()
  /** @type {Map<string, Declaration[]>} */
  const exported = new Map()
  /** @type {Map<string, string>} */
  const imported = new Map()
  for (const { text } of statements) {
    const [, list = '', source = ''] = /^import (?:type )?\{([^}]*)\} from '(.+)';$/.exec(text) ?? []
    for (const item of list.split(',')) imported.set(item.trim().replace(/^type /, ''), source)
  }
  for (const { text, comment } of statements) {
    const [, keyword, name] =
      /^(?:export )?(?:declare )?(?:abstract )?(const|let|function|class|interface|type|enum) ([\w$]+)/.exec(
        text,
      ) ?? []
    if (keyword === undefined || name === undefined || /^(?:export )?type \{/.test(text)) continue
    const declaration = {
      name,
      text: text.replace(/^export (?:declare )?|^declare /, ''),
      isInternal: comment.includes('@internal'),
    }
    local.set(name, [...(local.get(name) ?? []), declaration])
    if (text.startsWith('export ')) exported.set(name, local.get(name) ?? [])
  }
  for (const { text } of statements) {
    const [, star, from] = /^export (?:type )?(\*) from '(.+)';$/.exec(text) ?? []
    if (star !== undefined && from !== undefined && from.startsWith('.')) {
      for (const [name, declarations] of exportsOf(resolve(file, from))) exported.set(name, declarations)
    }
    const [, list, source] = /^export (?:type )?\{([^}]*)\}(?: from '(.+)')?;$/.exec(text) ?? []
    if (list === undefined) continue
    for (const item of list.split(',').map((each) => each.trim().replace(/^type /, ''))) {
      if (item === '') continue
      const [original = '', renamed = original] = item.split(' as ')
      const from = source ?? imported.get(original)
      const known = from === undefined ? local : from.startsWith('.') ? exportsOf(resolve(file, from)) : null
      const declarations = known?.get(original)
      exported.set(
        renamed,
        declarations ?? [
          {
            name: renamed,
            text: `export { ${item} } from '${from}'`,
            isInternal: false,
          },
        ],
      )
    }
  }
  return exported
}

/**
 * @param {string} file
 * @param {string} specifier
 */
function resolve(file, specifier) {
  return join(dirname(file), specifier.replace(/\.js$/, '.d.ts'))
}

/**
 * The top-level statements of a declaration file, each with the comment before it. A statement ends with the line on which its last
 * bracket is closed.
 *
 * @param {string} source
 */
function statementsOf(source) {
  /** @type {{ text: string; comment: string }[]} */
  const statements = []
  let comment = ''
  let lines = /** @type {string[]} */ ([])
  let depth = 0
  const all = withoutInnerComments(source).split('\n')
  for (const [index, line] of all.entries()) {
    if (depth === 0 && lines.length === 0 && /^(?:\/\*\*| \*|\/\/|$)/.test(line)) {
      comment += line
      continue
    }
    lines.push(line)
    const code = line.replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/g, '')
    depth += (code.match(/[{([]/g)?.length ?? 0) - (code.match(/[})\]]/g)?.length ?? 0)
    const isUnion = /^\s*[|&]/.test(all[index + 1] ?? '')
    if (depth > 0 || isUnion || !/[;}]$/.test(line)) continue
    statements.push({ text: lines.join('\n'), comment })
    lines = []
    comment = ''
  }
  return statements
}

/**
 * Comments inside of declarations, and those between the members of a union.
 *
 * @param {string} source
 */
function withoutInnerComments(source) {
  return source
    .replace(/^[ \t]+\/\*\*[\s\S]*?\*\/\n/gm, '')
    .replace(/^\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n(?=\s*[|&])/gm, '')
}
