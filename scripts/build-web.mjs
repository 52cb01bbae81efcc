// Builds the web app and the playground, or only the named app, unless a build is newer than all its sources. The playground is copied
// into the build of the web app, as `playground.html`, so that a gateway serves both. Most of their files are the same, under the same
// names.
import { spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './workspace.mjs'

/** Sources in packages that only this app uses. @type {Record<string, string[] | undefined>} */
const ownSources = { playground: ['core/src', 'agents/src/demo'] }

const name = process.argv[2]
if (name !== undefined) build(name)
else if (build('web') && build('playground')) addPlayground()

/**
 * Returns whether there is a build that is up to date.
 *
 * @param {string} name
 */
function build(name) {
  const built = pageOf(name)
  const sources = sourcesOf(name)
  if (existsSync(built) && sources.every((path) => newestChange(path) <= statSync(built).mtimeMs)) return true
  const vite = join(root, 'node_modules/vite/bin/vite.js')
  const { status } = spawnSync(process.execPath, [vite, 'build', '--logLevel', 'warn'], {
    cwd: join(root, 'apps', name),
    // Test runners set another one, for which React builds its version for development.
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: 'inherit',
  })
  process.exitCode = status ?? 1
  return status === 0
}

function addPlayground() {
  const from = join(root, 'apps/playground/dist')
  const to = join(root, 'apps/web/dist')
  const page = join(to, 'playground.html')
  if (existsSync(page) && statSync(page).mtimeMs >= statSync(pageOf('playground')).mtimeMs) return
  cpSync(join(from, 'assets'), join(to, 'assets'), { recursive: true, force: false })
  // The playground contains all that the web app contains.
  copyFileSync(join(from, 'LICENSES.md'), join(to, 'LICENSES.md'))
  copyFileSync(pageOf('playground'), page)
}

/** @param {string} name */
function pageOf(name) {
  return join(root, 'apps', name, 'dist/index.html')
}

/** @param {string} name */
function sourcesOf(name) {
  const app = join(root, 'apps', name)
  return [
    ...['src', 'index.html', 'vite.config.ts', 'package.json'].map((path) => join(app, path)),
    ...['src', 'public'].map((path) => join(root, 'apps/web', path)),
    ...['protocol/src', 'client/src', 'react/src', 'react/styles', ...(ownSources[name] ?? [])].map((path) =>
      join(root, 'packages', path),
    ),
  ]
}

/**
 * @param {string} path
 * @returns {number}
 */
function newestChange(path) {
  const stats = statSync(path)
  if (!stats.isDirectory()) return stats.mtimeMs
  return Math.max(stats.mtimeMs, ...readdirSync(path).map((name) => newestChange(join(path, name))))
}
