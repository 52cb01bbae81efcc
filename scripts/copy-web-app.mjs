// Runs before `askback` is packed or published: the package carries the build of the web app in its folder `web`. With
// `--remove`, after that: the command would prefer the copy to a newer build of this workspace.
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './workspace.mjs'

const copy = join(root, 'packages/cli/web')
rmSync(copy, { recursive: true, force: true })
if (!process.argv.includes('--remove')) {
  await import('./build-web.mjs')
  if (!process.exitCode) cpSync(join(root, 'apps/web/dist'), copy, { recursive: true })
}
