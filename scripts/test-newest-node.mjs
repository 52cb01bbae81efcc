// Installs and runs the packed packages with the newest Node.js instead of the one that runs the tests. It comes from npm, so this needs
// Linux on x64 or arm64.
//
//   npm run test:newest-node [VERSION]
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root, toolEnv } from './workspace.mjs'

const version = process.argv[2] ?? 'latest'
const name = `node-${process.platform}-${process.arch}`
const folder = mkdtempSync(join(tmpdir(), 'askback-node-'))
try {
  run('npm', [
    'install',
    '--prefix',
    folder,
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
    `${name}@${version}`,
  ])
  const node = join(folder, 'node_modules', name, 'bin/node')
  run(node, ['--version'])
  run('vitest', ['run', 'tests/packed/packed.test.ts'], { ...toolEnv, ASKBACK_PACKED_NODE: node })
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 */
function run(command, args, env = process.env) {
  const { status } = spawnSync(command, args, { cwd: root, env, stdio: 'inherit' })
  if (status !== 0) process.exitCode = status ?? 1
}
