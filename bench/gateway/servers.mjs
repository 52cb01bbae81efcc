import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** @typedef {{ url: string; token: string; agentToken: string; pid: number; stop: () => Promise<void> }} Server */

/**
 * Starts the gateway as its users do, with limits that are high enough for the load.
 *
 * @param {string} folder
 * @returns {Promise<Server>}
 */
export function startGateway(folder) {
  mkdirSync(folder, { recursive: true })
  const config = `${folder}/bench.json`
  writeFileSync(
    config,
    JSON.stringify({
      logLevel: 'silent',
      limits: { sessions: 20_000, streams: 20_000, agentRequestsPerSecond: null },
    }),
  )
  const args = ['serve', '--json', '--no-open', '--port', '0', '--data', folder, '--config', config]
  return start('../../packages/cli/bin/askback.js', args)
}

/**
 * Starts a minimal server to compare with.
 *
 * @param {'floor' | 'raw'} name
 * @param {string} folder
 * @returns {Promise<Server>}
 */
export function startBareServer(name, folder) {
  return start(`./${name}.mjs`, [folder])
}

/** @param {{ pid: number }} server */
export function residentBytes({ pid }) {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)])) * 1024
}

/**
 * @param {string} file
 * @param {string[]} args
 * @returns {Promise<Server>}
 */
async function start(file, args) {
  const flags = process.env['BENCH_NODE_FLAGS']?.split(' ') ?? []
  const path = fileURLToPath(new URL(file, import.meta.url))
  const child = spawn(process.execPath, [...flags, path, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  process.once('exit', () => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })
  for await (const line of lines) {
    const ready = /** @type {Omit<Server, 'stop'>} */ (JSON.parse(line))
    return {
      ...ready,
      async stop() {
        child.kill('SIGTERM')
        await exited
      },
    }
  }
  throw new Error(`${file} ended before it was ready.`)
}
