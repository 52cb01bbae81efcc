// Runs before `@askback/gateway` is packed or published, and copies the built web app into the package's folder `web`, where
// `createAskback` finds it. The playground, which the command also serves, is left out. With `--remove` it runs afterwards and removes
// the copy, which would hide a newer build of this workspace.
import { spawnSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './workspace.mjs'

const build = join(root, 'apps/web/dist')
const copy = join(root, 'packages/gateway/web')
rmSync(copy, { recursive: true, force: true })
if (!process.argv.includes('--remove')) {
  const { status } = spawnSync(process.execPath, [join(root, 'scripts/build-web.mjs')], { stdio: 'inherit' })
  if (status === 0) copyApp()
  else process.exitCode = status ?? 1
}

function copyApp() {
  const assets = readdirSync(join(build, 'assets'))
  const used = usedAssets(assets)
  cpSync(build, copy, { recursive: true })
  rmSync(join(copy, 'playground.html'))
  for (const name of assets) if (!used.has(name.replace(/\.gz$/u, ''))) rmSync(join(copy, 'assets', name))
}

/**
 * The assets that the page of the web app names, and those that these name, and so on.
 *
 * @param {string[]} assets
 */
function usedAssets(assets) {
  const used = new Set()
  const unread = [join(build, 'index.html')]
  for (let file = unread.pop(); file !== undefined; file = unread.pop()) {
    const text = readFileSync(file, 'utf8')
    for (const name of assets.filter((each) => !used.has(each) && text.includes(each))) {
      used.add(name)
      unread.push(join(build, 'assets', name))
    }
  }
  return used
}
