// Builds the web app, or the app that is named, unless its build is newer than everything it is made of.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './workspace.mjs'

const name = process.argv[2] ?? 'web'
const app = join(root, 'apps', name)
/** What only one of them is made of. @type {Record<string, string[] | undefined>} */
const below = { playground: ['core/src', 'agents/src/demo'] }
const built = join(app, 'dist/index.html')
const sources = [
  ...['src', 'index.html', 'vite.config.ts', 'package.json'].map((path) => join(app, path)),
  ...['src', 'public'].map((path) => join(root, 'apps/web', path)),
  ...['protocol/src', 'client/src', 'react/src', 'react/styles', ...(below[name] ?? [])].map((path) =>
    join(root, 'packages', path),
  ),
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
