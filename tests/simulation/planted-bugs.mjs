// Measures how many bugs the tests find. Plants one bug at a time into a copy of the work tree, runs 1,000 seeds of the simulation
// and, if these find nothing, the contract suites. Prints which of them found it. Takes minutes, so it is not part of `npm test`:
//   node tests/simulation/planted-bugs.mjs                 all bugs
//   node tests/simulation/planted-bugs.mjs --only A,B      some of them
//   node tests/simulation/planted-bugs.mjs --all           the contract suites even if the simulation has found the bug
//   node tests/simulation/planted-bugs.mjs --tests         for bugs that were missed, the other tests of the packages as a hint
//   node tests/simulation/planted-bugs.mjs --show          with the output of the tests
// The work tree itself is never changed. Exit code 1 if fewer than 90 % are found by the seeds or by a contract suite, and 2 if a
// bug no longer matches the source.
import { spawn } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bugs } from './planted-bugs-list.mjs'

/**
 * @typedef {{ status: string, title: string, ancestorTitles: string[], failureMessages: string[] }} Result
 *
 * @typedef {{ testResults: { name: string, message: string, assertionResults: Result[] }[] }} Report
 *
 * @typedef {typeof bugs[number]} Bug
 */

const SEEDS = 1000
const MIN_SHARE = 0.9

/** `suite` matches the outermost `describe` of a contract; other tests of the same files do not count. */
const contracts = [
  {
    name: 'store contract',
    path: 'packages/core/src/store/memory-store.test.ts',
    suite: /^the memory store$/,
  },
  { name: 'bus contract', path: 'packages/core/src/cluster/bus.test.ts', suite: / as a bus$/ },
  {
    name: 'shared desk contract',
    path: 'packages/core/src/desk/shared-desk.test.ts',
    suite: /^desks that share /,
  },
  { name: 'leases contract', path: 'packages/core/src/cluster/leases.test.ts', suite: /^leases on / },
  {
    name: 'connector contract',
    path: 'packages/connectors/src/runner/runner.test.ts',
    suite: / as a connector$/,
  },
  { name: 'transport contract', path: 'tests/transports/transports.test.ts', suite: / as a transport$/ },
]
const otherTests = ['packages/core/src', 'packages/client/src', 'packages/gateway/src/streams']

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..')
const args = process.argv.slice(2)
const only = args.includes('--only') ? args[args.indexOf('--only') + 1]?.split(',') : undefined
const chosen = bugs.filter(({ name }) => only === undefined || only.includes(name))

const copy = mkdtempSync(join(tmpdir(), 'askback-planted-'))
/** @type {import('node:child_process').ChildProcess | null} */
let running = null
process.on('exit', () => rmSync(copy, { recursive: true, force: true }))
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.on(signal, () => {
    running?.kill('SIGKILL')
    process.exit(130)
  })
}

makeCopy()
checkFits()
await checkClean()
/** @type {{ bug: string, foundBy: string[] }[]} */
const rows = []
for (const bug of chosen) {
  const restore = plant(bug)
  const foundBy = await bySeeds()
  if (foundBy.length === 0 || args.includes('--all')) foundBy.push(...(await byContracts()))
  const hint = foundBy.length === 0 && args.includes('--tests') ? await byOtherTests() : ''
  restore()
  rows.push({ bug: bug.name, foundBy })
  process.stdout.write(`| ${bug.name.padEnd(34)} | ${foundBy.join('; ') || `NOT FOUND${hint}`} |\n`)
}
const found = rows.filter(({ foundBy }) => foundBy.length > 0).length
const minFound = Math.ceil(rows.length * MIN_SHARE)
process.stdout.write(
  `\n${found} of ${rows.length} found by ${SEEDS} seeds or a contract suite; at least ${minFound} must be\n`,
)
process.exit(found >= minFound ? 0 : 1)

/** The packages and the tests, with the installed modules of the work tree and its own links between the packages. */
function makeCopy() {
  const isSource = (/** @type {string} */ path) => !/\/(node_modules|dist|\.cache)$/.test(path)
  for (const part of ['packages', 'tests/simulation', 'tests/transports'])
    cpSync(join(root, part), join(copy, part), { recursive: true, filter: isSource })
  for (const file of readdirSync(root)) {
    if (/^(package|tsconfig|vitest)\b.*\.(json|ts)$/.test(file)) cpSync(join(root, file), join(copy, file))
  }
  mkdirSync(join(copy, 'node_modules/@askback'), { recursive: true })
  const modules = join(root, 'node_modules')
  for (const name of readdirSync(modules)) {
    if (name !== '@askback' && name !== '.cache')
      symlinkSync(join(modules, name), join(copy, 'node_modules', name))
  }
  for (const name of readdirSync(join(copy, 'packages')))
    symlinkSync(join(copy, 'packages', name), join(copy, 'node_modules/@askback', name))
}

/** Checks all bugs before any is planted: a text that no longer matches would plant nothing. */
function checkFits() {
  const misfits = bugs.flatMap(({ name, file, from }) => {
    const places = readFileSync(join(copy, file), 'utf8').split(from).length - 1
    return places === 1 ? [] : [`${name}: ${file} holds the text ${places} times, not once.`]
  })
  const unknown = (only ?? []).filter((name) => !bugs.some((bug) => bug.name === name))
  misfits.push(...unknown.map((name) => `${name}: there is no such bug.`))
  if (misfits.length === 0) return
  process.stderr.write(`${misfits.join('\n')}\n`)
  process.exit(2)
}

/** A test that fails without any bug would make every result meaningless. */
async function checkClean() {
  const failing = [...(await bySeeds()), ...(await byContracts())]
  if (failing.length === 0) return
  process.stderr.write(`Without any bug: ${failing.join('; ')}\n`)
  process.exit(2)
}

/** @param {Bug} bug */
function plant({ file, from, to }) {
  const path = join(copy, file)
  const before = readFileSync(path, 'utf8')
  writeFileSync(
    path,
    before.replace(from, () => to),
  )
  return () => writeFileSync(path, before)
}

/** Seeds start at 1, so the first failing seed is the number of seeds that were needed. */
async function bySeeds() {
  const failed = (await results(['--bail=1', 'tests/simulation'])).find(hasFailed)
  if (!failed) return []
  const [message = ''] = failed.failureMessages
  const seed = /seed (\d+)/.exec(message)?.[1]
  if (seed === undefined) return [`simulation: ${failed.title}`]
  const rule = /Violation: (.*)/.exec(message)?.[1] ?? message.split('\n').at(-1) ?? ''
  return [`${seed} seeds: ${rule.slice(0, 90)}`]
}

async function byContracts() {
  const all = await results(contracts.map(({ path }) => path))
  return contracts.flatMap(({ name, path, suite }) => {
    const own = all.filter(({ file, ancestorTitles: [outer = ''] }) => file === path && suite.test(outer))
    if (own.length === 0) throw new Error(`${path} has no suite ${suite}.`)
    const failed = own.find(hasFailed)
    return failed ? [`${name}: ${failed.title}`] : []
  })
}

async function byOtherTests() {
  const first = (await results(otherTests)).find(hasFailed)
  return first ? `; only by ${first.file}: ${first.title}` : ''
}

/** @param {Result} result */
function hasFailed({ status }) {
  return status === 'failed'
}

/**
 * @param {string[]} options
 * @returns {Promise<(Result & { file: string })[]>}
 */
async function results(options) {
  const output = await run(['vitest', 'run', '--reporter=json', ...options])
  if (args.includes('--show')) process.stdout.write(output)
  const start = output.indexOf('{"num')
  const report = /** @type {Report} */ (JSON.parse(output.slice(start, output.lastIndexOf('}') + 1)))
  return report.testResults.flatMap(({ name, message, assertionResults }) => {
    if (assertionResults.length === 0) throw new Error(`${name} does not run: ${message}`)
    const file = name.slice(copy.length + 1)
    return assertionResults.map((result) => Object.assign(result, { file }))
  })
}

/**
 * @param {string[]} command
 * @returns {Promise<string>}
 */
function run(command) {
  return new Promise((resolvePromise) => {
    let output = ''
    const env = { ...process.env, FROM: '1', SEEDS: `${SEEDS}` }
    running = spawn('npx', command, { cwd: copy, env, stdio: ['ignore', 'pipe', 'pipe'] })
    running.stdout?.on('data', (/** @type {Buffer} */ data) => (output += data.toString()))
    running.stderr?.on(
      'data',
      (/** @type {Buffer} */ data) => args.includes('--show') && process.stderr.write(data),
    )
    running.on('close', () => resolvePromise(output))
  })
}
