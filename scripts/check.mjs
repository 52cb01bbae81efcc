// Runs all checks: format, lint, types, unused code and tests. With `--accept` it only runs the tests, and then raises the
// committed minimum of their number.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { accept, runTests } from './tests.mjs'
import { root, toolEnv } from './workspace.mjs'

const isAccepting = process.argv.includes('--accept')
const failedChecks = isAccepting ? [] : await runScripts(['format:check', 'lint', 'types', 'unused'])
const { passed, failed, problems } = runTests()

if (isAccepting && failed + problems.length === 0) accept(passed)
for (const problem of problems) console.error(problem)
for (const name of failedChecks) console.error(`npm run ${name} failed`)

const total = Object.values(passed).reduce((sum, count) => sum + count, 0)
const failures = failed + failedChecks.length + problems.length
console.log(`${total} passed, ${failures} failed`)
process.exitCode = failures === 0 && total > 0 ? 0 : 1

/**
 * Runs package scripts in parallel, and prints the output of those that fail.
 *
 * @param {string[]} names
 * @returns {Promise<string[]>} The names of those that failed.
 */
async function runScripts(names) {
  /** @type {{ scripts: Record<string, string> }} */
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const results = await Promise.all(
    names.map(async (name) => ({ name, ...(await run(scripts[name] ?? '')) })),
  )
  for (const { name, ok, seconds, output } of results) {
    console.log(`${ok ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`)
    if (!ok) console.log(output)
  }
  return results.filter(({ ok }) => !ok).map(({ name }) => name)
}

/**
 * @param {string} command
 * @returns {Promise<{ ok: boolean; seconds: string; output: string }>}
 */
function run(command) {
  const started = performance.now()
  const child = spawn(command, { cwd: root, env: toolEnv, shell: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stdout.on('data', (data) => (output += data))
  child.stderr.on('data', (data) => (output += data))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      resolve({ ok: code === 0, seconds: ((performance.now() - started) / 1000).toFixed(1), output })
    })
  })
}
