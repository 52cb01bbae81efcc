// Builds the web app, or the named app, unless its build is newer than all its sources.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './workspace.mjs'

const name = process.argv[2] ?? 'web'
const app = join(root, 'apps', name)
/** Sources in packages that only this app uses. @type {Record<string, string[] | undefined>} */
const ownSources = { playground: ['core/src', 'agents/src/demo'] }
const built = join(app, 'dist/index.html')
const sources = [
  ...['src', 'index.html', 'vite.config.ts', 'package.json'].map((path) => join(app, path)),
  ...['src', 'public'].map((path) => join(root, 'apps/web', path)),
  ...['protocol/src', 'client/src', 'react/src', 'react/styles', ...(ownSources[name] ?? [])].map((path) =>
    join(root, 'packages', path),
  ),
]

if (!existsSync(built) || sources.some((path) => newestChange(path) > statSync(built).mtimeMs)) {
  const { status } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/vite/bin/vite.js'), 'build', '--logLevel', 'warn'],
    {
      cwd: app,
      stdio: 'inherit',
    },
  )
  process.exitCode = status ?? 1
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
