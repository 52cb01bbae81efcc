import { join } from 'node:path'
import { build } from 'rolldown'
import { root } from '../../architecture/workspace.js'
import { madeOnce } from './made-once.js'

/** The command as it is when installed. It finds the web app relative to its own folder. */
const bundled = await madeOnce('dist', async (folder) => {
  await build({
    input: join(root, 'packages/cli/src/main.ts'),
    platform: 'node',
    resolve: { conditionNames: ['askback-source', 'node', 'import', 'default'] },
    external: (id) => !id.startsWith('.') && !id.startsWith('/') && !id.startsWith('@askback/'),
    output: {
      dir: folder,
      format: 'esm',
      entryFileNames: 'main.mjs',
      chunkFileNames: '[name].mjs',
    },
    logLevel: 'silent',
  })
})

export const commandFile = join(bundled, 'main.mjs')
