// Builds the web app unless its build is newer than everything it is made of.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './workspace.mjs'

const app = join(root, 'apps/web')
const built = join(app, 'dist/index.html')
const sources = [
  ...['src', 'public', 'index.html', 'vite.config.ts', 'package.json'].map((path) => join(app, path)),
  ...['protocol/src', 'client/src', 'react/src', 'react/styles'].map((path) => join(root, 'packages', path)),
]

if (!existsSync(built) || sources.some((path) => newest(path) > statSync(built).mtimeMs)) {
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
function newest(path) {
  const stats = statSync(path)
  if (!stats.isDirectory()) return stats.mtimeMs
  return Math.max(stats.mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))))
}
