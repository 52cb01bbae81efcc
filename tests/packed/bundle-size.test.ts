import { rolldown, type OutputChunk } from 'rolldown'
import { expect, it } from 'vitest'
import { gzipSync } from 'node:zlib'
import { join } from 'node:path'
import { root, sourceTexts } from '../architecture/workspace.js'

const MAX_BYTES = 35_000

it('HttpTransport alone adds at most 35 KB to a page', async () => {
  const { code } = await bundle("export { HttpTransport } from '@askback/client'")
  expect(code).toContain('text/event-stream')
  expect(gzipSync(code).length).toBeLessThan(MAX_BYTES)
})

it('the components contain no highlighter: a page that wants one imports it', async () => {
  const modules = async (entry: string) => {
    const { moduleIds } = await bundle(`export * from '${entry}'`)
    return moduleIds.filter((id) => /node_modules\/@?shiki/u.test(id))
  }
  expect(await modules('@askback/react')).toEqual([])
  expect((await modules('@askback/react/highlighting')).length).toBeGreaterThan(0)
})

/** Rolldown takes apart `import { z }` as well; esbuild does not, and then bundles all of zod: 99 KB, not 35. */
it('zod is imported as a namespace, which every bundler can take apart', () => {
  const shipped = sourceTexts().filter(({ path, isTest }) => path.startsWith('packages/') && !isTest)
  expect(shipped.length).toBeGreaterThan(0)
  const named = shipped.filter(({ text }) => /import (?:type )?\{ z \} from 'zod'/u.test(text))
  expect(named.map(({ path }) => path)).toEqual([])
})

/** Bundles a module with the bundler's defaults for browsers, minified. */
async function bundle(source: string): Promise<OutputChunk> {
  const entry = join(root, 'tests/packed/entry.js')
  const build = await rolldown({
    input: entry,
    platform: 'browser',
    external: /^react(?:-dom)?(?:\/|$)/,
    resolve: { conditionNames: ['askback-source', 'browser', 'import', 'default'] },
    plugins: [
      {
        name: 'entry',
        load: (id) => (id === entry ? source : null),
        resolveId: (id) => (id === entry ? id : null),
      },
    ],
  })
  const { output } = await build.generate({ format: 'esm', minify: true, codeSplitting: false })
  await build.close()
  expect(output).toHaveLength(1)
  return output[0]
}
