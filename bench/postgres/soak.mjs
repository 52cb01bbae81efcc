// Hours of faults under load, by hand: `node bench/postgres/soak.mjs 60` for that many minutes.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** About what one fault and the recovery from it take. */
const SECONDS_EACH = 4
const minutes = Number(process.argv[2] ?? 60)
const child = spawn('npx', ['vitest', 'run', 'tests/cluster/faults.test.ts'], {
  cwd: fileURLToPath(new URL('../..', import.meta.url)),
  stdio: 'inherit',
  env: {
    ...process.env,
    ASKBACK_FAULT_ROUNDS: String(Math.ceil((minutes * 60) / SECONDS_EACH)),
    ASKBACK_FAULT_SEED: String(Date.now() % 2 ** 32),
  },
})
const [code] = /** @type {[number | null]} */ (await once(child, 'exit'))
process.exitCode = code ?? 1
