// Measures the time of a hook of Claude Code, relative to a Node process that does nothing.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { interleave, passes, print, timed } from '../core/measure.mjs'

const REPETITIONS = 8
const askback = fileURLToPath(new URL('../../packages/cli/bin/askback.js', import.meta.url))
const data = mkdtempSync(join(tmpdir(), 'askback-bench-'))
const emptyProgram = join(data, 'empty.mjs')
writeFileSync(emptyProgram, '')
const use = { session_id: 'bench', cwd: data, tool_name: 'Bash', tool_input: { command: 'make deploy' } }
const call = JSON.stringify({ ...use, hook_event_name: 'PreToolUse', tool_use_id: 'call' })
const permission = JSON.stringify({ ...use, hook_event_name: 'PermissionRequest' })

const gateway = spawn(process.execPath, [askback, 'serve', '--port', '0', '--data', data, '--json'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
await new Promise((resolve) => gateway.stdout.once('data', resolve))
try {
  await storeRule()
  const rows = [
    await compare('a permission that a rule allows', () => hook(permission)),
    await compare('a call that is recorded', () => hook(call)),
    await compare('no gateway', () => hook(permission, join(data, 'nowhere'))),
  ]
  print(rows)
  process.exitCode = rows.every(passes) ? 0 : 1
} finally {
  gateway.kill('SIGTERM')
  await new Promise((resolve) => gateway.once('close', resolve))
  rmSync(data, { recursive: true, force: true })
}

/**
 * @param {string} what
 * @param {() => Promise<string>} once
 */
async function compare(what, once) {
  const { a, b, ratio } = await interleave({
    prepare: () => Promise.resolve(),
    a: () => timed(() => repeat(once)),
    b: () => timed(() => repeat(() => run([emptyProgram], ''))),
  })
  const ms = `${(a / REPETITIONS).toFixed(0)} ms, the process alone ${(b / REPETITIONS).toFixed(0)} ms`
  return { what: `hook: ${what} (${ms})`, value: ratio, unit: '×', atMost: 2 }
}

/** @param {() => Promise<string>} once */
async function repeat(once) {
  for (let time = 0; time < REPETITIONS; time += 1) await once()
}

/** Approves a permission for the session, so that a rule allows the next one. */
async function storeRule() {
  await hook(call)
  const asked = hook(permission)
  let id = ''
  while (id === '') [id = ''] = (await command('pending')).split(' ')
  await command('answer', id, 'approve', '--scope', 'session')
  await asked
  const allowed = await hook(permission)
  if (!allowed.includes('"allow"')) throw new Error(`The rule does not allow it: ${allowed}`)
}

/** @param {string[]} args */
function command(...args) {
  return run([askback, ...args, '--data', data], '')
}

/** @param {string} input */
function hook(input, folder = data) {
  return run([askback, 'hook', 'claude-code', '--data', folder], input)
}

/**
 * @param {string[]} args
 * @param {string} stdin
 * @returns {Promise<string>}
 */
function run(args, stdin) {
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'] })
  child.stdin.end(stdin)
  let stdout = ''
  child.stdout.on('data', (text) => (stdout += text))
  return new Promise((resolve) => child.on('close', () => resolve(stdout)))
}
