import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../architecture/workspace.js'

/**
 * Type-checks every TypeScript sample of the documentation as a separate program. Names that a sample uses without declaring them
 * (`host`, `prompt`) are declared in a comment before it, which the rendered page does not show:
 *
 *     <!-- sample context
 *     declare const prompt: string
 *     -->
 */
const folder = join(root, 'node_modules/.cache/askback/samples')

const SAMPLE =
  /(?:<!-- sample context\n(?<context>[^]*?)-->\s*)?^ *```(?<language>tsx?)\b.*\n(?<code>[^]*?)^ *```/gmu

function documents(): string[] {
  const entries = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  const readmes = readdirSync(join(root, 'packages')).map((name) => `packages/${name}/README.md`)
  return ['README.md', ...readmes, ...entries.map((path) => join('docs', path))].filter((path) => {
    return path.endsWith('.md') && relative('docs/decisions', path).startsWith('..')
  })
}

function writeSamples(): string[] {
  rmSync(folder, { recursive: true, force: true })
  const written: string[] = []
  for (const document of documents()) {
    let number = 0
    for (const { groups } of read(document).matchAll(SAMPLE)) {
      const { context = '', language, code } = groups!
      const path = `${document.replace(/\.md$/u, '')}.${++number}.${language}`
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      // Without an import or export a sample would be a script, and share its names with all others.
      writeFileSync(join(folder, path), `${context}${code}\nexport {}\n`)
      written.push(path)
    }
  }
  return written
}

function read(document: string): string {
  try {
    return readFileSync(join(root, document), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

it('every TypeScript sample of the documentation compiles', () => {
  const samples = writeSamples()
  expect(samples).toContain('docs/guides/interactive-tools.1.ts')
  expect(samples).toContain('packages/core/README.1.ts')
  const agents = '../../../../tests/agents/node_modules'
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: '../../../../tsconfig.base.json',
      compilerOptions: {
        composite: false,
        declaration: false,
        declarationMap: false,
        noEmit: true,
        // Bundlers know style sheets, TypeScript does not.
        noUncheckedSideEffectImports: false,
        noUnusedLocals: false,
        noUnusedParameters: false,
        isolatedDeclarations: false,
        jsx: 'react-jsx',
        types: ['node'],
        lib: ['ES2023', 'ES2024.String', 'DOM', 'DOM.Iterable'],
        paths: { '@anthropic-ai/claude-agent-sdk': [`${agents}/@anthropic-ai/claude-agent-sdk/sdk.d.ts`] },
      },
      include: ['**/*.ts', '**/*.tsx'],
    }),
  )
  const { stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder, '--pretty', 'false'], {
    cwd: folder,
    encoding: 'utf8',
  })
  expect(stdout).toBe('')
})
