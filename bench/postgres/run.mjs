// All benchmarks of many gateways, one after the other, each in a process of its own.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { passes, print } from '../core/measure.mjs'

/** @import { Row } from '../core/measure.mjs' */

const wanted = process.argv.slice(2)
/** @type {Row[]} */
const rows = []
for (const name of ['across', 'at-once', 'processor', 'idle', 'takeover']) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const child = fork(fileURLToPath(new URL(`${name}.mjs`, import.meta.url)))
  child.on('message', (reported) => void rows.push(.../** @type {Row[]} */ (reported)))
  const [code] = /** @type {[number | null]} */ (await once(child, 'exit'))
  if (code !== 0) throw new Error(`${name} ended with exit code ${code}.`)
}
print(rows)
process.exitCode = rows.every(passes) ? 0 : 1
