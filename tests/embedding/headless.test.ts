import { join, relative } from 'node:path'
import { rolldown } from 'rolldown'
import { expect, it } from 'vitest'
import { root } from '../architecture/workspace.js'

it('the headless entry loads hooks, and no component, style or library for drawing', async () => {
  const build = await rolldown({
    input: join(root, 'packages/react/src/headless.ts'),
    external: [/^react/u],
    // It warns that a bundle does not keep "use client".
    logLevel: 'silent',
    resolve: { conditionNames: ['askback-source', 'browser', 'import', 'default'] },
  })
  const { output } = await build.generate({ format: 'esm' })
  await build.close()
  const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
  const paths = modules.map((id) => relative(root, id))
  expect(paths).toContain('packages/react/src/interaction/use-interaction.ts')
  const drawing = /\.css$|lucide-react|react-markdown|shiki|\.tsx$/u
  expect(paths.filter((path) => drawing.test(path))).toEqual(['packages/react/src/askback-provider.tsx'])
})
