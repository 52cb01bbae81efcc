// Faults under a light load for a given number of minutes: `node bench/postgres/soak.mjs 60`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const minutes = process.argv[2] ?? '60'
const seed = process.argv[3] ?? String(Date.now() % 2 ** 32)
process.stdout.write(`seed ${seed}\n`)
const child = spawn('npx', ['vitest', 'run', 'tests/cluster/faults.test.ts'], {
  cwd: fileURLToPath(new URL('../..', import.meta.url)),
  stdio: 'inherit',
  env: {
    ...process.env,
    ASKBACK_FAULT_MINUTES: minutes,
    ASKBACK_FAULT_EVERY: '90',
    ASKBACK_FAULT_CLIENTS: '4',
    ASKBACK_FAULT_PAUSE: '300',
    ASKBACK_FAULT_SEED: seed,
  },
})
const [code] = /** @type {[number | null]} */ (await once(child, 'exit'))
process.exitCode = code ?? 1
