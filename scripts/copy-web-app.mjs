// Runs before `askback` is packed or published: the package carries the build of the web app in its folder `web`.
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './workspace.mjs'

await import('./build-web.mjs')
const target = join(root, 'packages/cli/web')
rmSync(target, { recursive: true, force: true })
if (process.exitCode === undefined || process.exitCode === 0) {
  cpSync(join(root, 'apps/web/dist'), target, { recursive: true })
}
