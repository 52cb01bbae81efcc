// Measures the web app in a browser: everything, or what the arguments name.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { passes, print } from '../core/measure.mjs'
import { openStage } from './browser.mjs'
import { firstPaint } from './first-paint.mjs'
import { heap } from './heap.mjs'
import { longSession } from './long-session.mjs'
import { scrolling } from './scrolling.mjs'
import { streaming } from './streaming.mjs'
import { submit } from './submit.mjs'

/** @import { BenchmarkResult } from '../core/measure.mjs' */
/** @import { Ready } from './browser.mjs' */

const all = { 'first-paint': firstPaint, 'long-session': longSession, scrolling, streaming, submit, heap }

const wanted = process.argv.slice(2)
// A copy, because another build would delete the files during the measurement.
const app = mkdtempSync(join(tmpdir(), 'askback-bench-web-'))
cpSync(fileURLToPath(new URL('../../apps/web/dist', import.meta.url)), app, { recursive: true })
const gateway = fork(fileURLToPath(new URL('gateway.mjs', import.meta.url)), [app])
const [ready] = /** @type {[Ready]} */ (await once(gateway, 'message'))
const stage = await openStage({ ...ready, app })
/** @type {BenchmarkResult[]} */
const rows = []
try {
  for (const [name, measure] of Object.entries(all)) {
    if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) continue
    console.log(`measuring ${name} …`)
    const measured = await measure(stage)
    print(measured)
    rows.push(...measured)
  }
} finally {
  await stage.browser.close()
  gateway.kill()
  rmSync(app, { recursive: true })
}
print(rows)
process.exitCode = rows.every(passes) ? 0 : 1
