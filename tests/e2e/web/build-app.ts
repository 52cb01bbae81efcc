import { join } from 'node:path'
import { build } from 'vite'
import { vi } from 'vitest'
import { root } from '../../architecture/workspace.js'

/** As it ships: under `NODE_ENV=test` the build would hold React's own checks. */
export async function buildApp(app: 'web' | 'playground', outDir: string): Promise<void> {
  vi.stubEnv('NODE_ENV', 'production')
  await build({ root: join(root, 'apps', app), logLevel: 'error', build: { outDir, emptyOutDir: true } })
  vi.unstubAllEnvs()
}
