// Runs every benchmark, or those whose name holds one of the arguments, each in a process of its own.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { passes, print } from './measure.mjs'

/** @import { Row } from './measure.mjs' */

const ALL = ['durable', 'in-memory', 'pending-heap', 'pending-cost', 'folding', 'recovery', 'crash']

const wanted = process.argv.slice(2)
const chosen = ALL.filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
if (chosen.length === 0) throw new Error(`There is no such benchmark. There are ${ALL.join(', ')}.`)

/** @type {Row[]} */
const table = []
for (const name of chosen) {
  console.log(`measuring ${name} …`)
  table.push(...(await run(name)))
}
console.log()
print(table)
process.exitCode = table.every(passes) ? 0 : 1

/**
 * @param {string} name
 * @returns {Promise<Row[]>}
 */
async function run(name) {
  const file = fileURLToPath(new URL(`${name}.mjs`, import.meta.url))
  const child = fork(file, [], { execArgv: ['--expose-gc'] })
  const stopped = once(child, 'exit').then(([code]) => {
    throw new Error(`The benchmark ${name} stopped with ${String(code)} before it had a result.`)
  })
  const measured = once(child, 'message').then((message) => /** @type {[Row[]]} */ (message)[0])
  const rows = await Promise.race([measured, stopped])
  stopped.catch(() => undefined)
  child.disconnect()
  return rows
}
