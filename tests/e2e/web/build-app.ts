import { join } from 'node:path'
import { build } from 'vite'
import { vi } from 'vitest'
import { root } from '../../architecture/workspace.js'

/** Builds the app as it is published: under `NODE_ENV=test` the build would contain React's development checks. */
export async function buildApp(app: 'web' | 'playground', outDir: string): Promise<void> {
  vi.stubEnv('NODE_ENV', 'production')
  await build({ root: join(root, 'apps', app), logLevel: 'error', build: { outDir, emptyOutDir: true } })
  vi.unstubAllEnvs()
}
