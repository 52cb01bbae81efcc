// Runs before `askback` is packed or published, and copies the built web app into the package's folder `web`. With `--remove` it
// runs afterwards and removes the copy, which the command would prefer to a newer build of this workspace.
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './workspace.mjs'

const copy = join(root, 'packages/cli/web')
rmSync(copy, { recursive: true, force: true })
if (!process.argv.includes('--remove')) {
  await import('./build-web.mjs')
  if (!process.exitCode) cpSync(join(root, 'apps/web/dist'), copy, { recursive: true })
}
