import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const ROUNDS = 5
/** Rounds before the engine has compiled the code take up to twice as long. */
const WARM_UP_ROUNDS = 4

/**
 * One line of the table. `value` is a ratio, or an amount that has its own limit.
 *
 * @typedef {{ what: string; value: number; unit?: string; atLeast?: number; atMost?: number }} BenchmarkResult
 */

/**
 * Measures two sides alternately, so that a machine that becomes slower affects both, and returns the medians of five rounds.
 * Each side resolves to its cost. `prepare` is not measured, and the first rounds only warm up. If a side takes long, a round
 * can have several turns, each with a part of the work. There is no forced garbage collection, because the engine would finish it
 * during the next measurement.
 *
 * @template Prepared
 * @param {{
 *   turns?: number
 *   prepare: () => Promise<Prepared>
 *   a: (prepared: Prepared, turn: number) => Promise<number>
 *   b: (prepared: Prepared, turn: number) => Promise<number>
 *   end?: (prepared: Prepared) => unknown
 * }} sides
 * @returns {Promise<{ a: number; b: number; ratio: number }>} `ratio` is the median of a / b, round by round.
 */
export async function interleave({ turns = 1, prepare, a, b, end }) {
  const costs = []
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    const prepared = await prepare()
    const cost = { a: 0, b: 0 }
    for (let turn = 0; turn < turns; turn++) {
      cost.a += await a(prepared, turn)
      cost.b += await b(prepared, turn)
    }
    await end?.(prepared)
    if (round >= 0) costs.push(cost)
  }
  return {
    a: median(costs.map((cost) => cost.a)),
    b: median(costs.map((cost) => cost.b)),
    ratio: median(costs.map((cost) => cost.a / cost.b)),
  }
}

/**
 * @param {() => unknown} work
 * @returns {Promise<number>} Milliseconds.
 */
export async function timed(work) {
  const started = performance.now()
  await work()
  return performance.now() - started
}

/**
 * Measures CPU time. For work that never waits this is more exact than elapsed time on a busy machine.
 *
 * @param {() => unknown} work
 * @returns {Promise<number>} Milliseconds, of all threads.
 */
export async function computed(work) {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** @param {number[]} values */
export function median(values) {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[sorted.length >> 1] ?? NaN
}

/** @param {BenchmarkResult} row */
export function passes({ value, atLeast = -Infinity, atMost = Infinity }) {
  return value >= atLeast && value <= atMost
}

/**
 * Sends results to the process that runs several benchmarks, or prints them if this one was started by itself.
 *
 * @param {BenchmarkResult[]} rows
 */
export function report(rows) {
  if (process.send) process.send(rows)
  else print(rows)
}

/** @param {BenchmarkResult[]} rows */
export function print(rows) {
  const cells = rows.map((row) => [row.what, amount(row), target(row), passes(row) ? 'pass' : 'MISS'])
  const table = [['what', 'measured', 'target', ''], ...cells]
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)))
  for (const row of table) {
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
  }
}

/** @param {BenchmarkResult} row */
function amount({ value, unit = '' }) {
  return `${value >= 100 ? value.toFixed(0) : value.toFixed(2)}${unit}`
}

/** @param {BenchmarkResult} row */
function target({ atLeast, atMost, unit = '' }) {
  if (atLeast !== undefined) return `≥ ${atLeast}${unit}`
  return atMost === undefined ? '' : `≤ ${atMost}${unit}`
}

/**
 * Runs benchmarks one after the other, each in its own process, and prints their results. With arguments on the command line only
 * those whose name contains one of them. The exit code is 1 if a result misses its target.
 *
 * @param {string} folder The URL of a file in the folder of the benchmarks.
 * @param {string[]} names
 * @param {string[]} [execArgv] Options of Node.
 */
export async function runBenchmarks(folder, names, execArgv = []) {
  const wanted = process.argv.slice(2)
  const chosen = names.filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
  if (chosen.length === 0) throw new Error(`There is no such benchmark. There are ${names.join(', ')}.`)
  /** @type {BenchmarkResult[]} */
  const results = []
  for (const name of chosen) {
    console.log(`measuring ${name} …`)
    const child = fork(fileURLToPath(new URL(`${name}.mjs`, folder)), [], { execArgv })
    child.on('message', (reported) => void results.push(.../** @type {BenchmarkResult[]} */ (reported)))
    const [code] = /** @type {[number | null]} */ (await once(child, 'exit'))
    if (code !== 0) throw new Error(`The benchmark ${name} ended with exit code ${code}.`)
  }
  console.log()
  print(results)
  process.exitCode = results.every(passes) ? 0 : 1
}
