// Runs before `@askback/gateway` is packed or published, and copies the built web app into the package's folder `web`, where
// `createAskback` finds it. With `--remove` it runs afterwards and removes the copy, which would hide a newer build of this workspace.
import { spawnSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './workspace.mjs'

const copy = join(root, 'packages/gateway/web')
rmSync(copy, { recursive: true, force: true })
if (!process.argv.includes('--remove')) {
  const { status } = spawnSync(process.execPath, [join(root, 'scripts/build-web.mjs')], { stdio: 'inherit' })
  if (status === 0) cpSync(join(root, 'apps/web/dist'), copy, { recursive: true })
  else process.exitCode = status ?? 1
}
