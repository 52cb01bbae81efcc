const ROUNDS = 5
/** Until the engine has compiled what runs often: before that a round takes up to twice as long. */
const WARM_UP = 4

/**
 * One line of the table. `value` is a ratio, or an amount that has its own limit.
 *
 * @typedef {{ what: string; value: number; unit?: string; atLeast?: number; atMost?: number }} Row
 */

/**
 * Measures both sides in turn, so that a machine that slows down slows down both, and returns the medians of five rounds.
 * Each side resolves to its cost; `prepare` of a round is not measured. The first rounds only warm up. Where a side takes long,
 * a round has several turns of a part of the work each. Nothing collects garbage in between: what is left to be done after a
 * forced collection would count as work of whoever is measured next.
 *
 * @template Made
 * @param {{
 *   turns?: number
 *   prepare: () => Promise<Made>
 *   a: (made: Made, turn: number) => Promise<number>
 *   b: (made: Made, turn: number) => Promise<number>
 *   end?: (made: Made) => unknown
 * }} sides
 * @returns {Promise<{ a: number; b: number; ratio: number }>} `ratio` is the median of a / b, round by round.
 */
export async function interleave({ turns = 1, prepare, a, b, end }) {
  const costs = []
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    const made = await prepare()
    const cost = { a: 0, b: 0 }
    for (let turn = 0; turn < turns; turn++) {
      cost.a += await a(made, turn)
      cost.b += await b(made, turn)
    }
    await end?.(made)
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
 * For work that never waits: on a busy machine the time of the processor tells more than that of the clock.
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

/** @param {Row} row */
export function passes({ value, atLeast = -Infinity, atMost = Infinity }) {
  return value >= atLeast && value <= atMost
}

/**
 * To the process that runs all benchmarks, or to the screen where this one was started alone.
 *
 * @param {Row[]} rows
 */
export function report(rows) {
  if (process.send) process.send(rows)
  else print(rows)
}

/** @param {Row[]} rows */
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

/** @param {Row} row */
function amount({ value, unit = '' }) {
  return `${value >= 100 ? value.toFixed(0) : value.toFixed(2)}${unit}`
}

/** @param {Row} row */
function target({ atLeast, atMost, unit = '' }) {
  if (atLeast !== undefined) return `≥ ${atLeast}${unit}`
  return atMost === undefined ? '' : `≤ ${atMost}${unit}`
}
