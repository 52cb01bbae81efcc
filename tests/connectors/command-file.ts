import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'rolldown'
import { afterAll } from 'vitest'
import { root } from '../architecture/workspace.js'

/** The command made from the sources as they are. */
export const commandFile = await bundle()
afterAll(() => rmSync(dirname(commandFile), { recursive: true, force: true }))

async function bundle(): Promise<string> {
  const folder = join(root, 'node_modules/.cache/askback/connectors', crypto.randomUUID())
  await build({
    input: join(root, 'packages/cli/src/main.ts'),
    platform: 'node',
    resolve: { conditionNames: ['askback-source', 'node', 'import', 'default'] },
    external: (id) => !id.startsWith('.') && !id.startsWith('/') && !id.startsWith('@askback/'),
    output: { dir: folder, format: 'esm', entryFileNames: 'main.mjs', chunkFileNames: '[name].mjs' },
    logLevel: 'silent',
  })
  return join(folder, 'main.mjs')
}
