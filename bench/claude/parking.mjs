// Measures the memory of twenty Claude sessions with a pending question, with and without parking.
// Run: npm run build && node scripts/parts.mjs && node bench/claude/parking.mjs
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { claudeAgent } from '@askback/agents/claude'
import { createDesk, createHost, memoryStore } from '@askback/core'

const SESSIONS = 20
const BATCH_SIZE = 4

const endpoint = await startAskingModel()
const running = await measure(null)
const parked = await measure(500)
endpoint.close()

console.table({
  running: { processes: running.processes, 'MB in all': running.mb, 'MB a session': running.mb / SESSIONS },
  parked: { processes: parked.processes, 'MB in all': parked.mb, 'MB a session': parked.mb / SESSIONS },
})
console.log(`Parking frees ${(100 * (1 - parked.mb / running.mb)).toFixed(1)} % of the memory.`)
process.exit(0)

/**
 * @param {number | null} parkAfterMs
 * @returns {Promise<{ processes: number; mb: number }>}
 */
async function measure(parkAfterMs) {
  const home = await mkdtemp(join(tmpdir(), 'askback-bench-'))
  const adapter = claudeAgent({ env: environment(home), parkAfterMs, sdk: loadSdk })
  const desk = createDesk({ store: memoryStore() })
  const host = createHost({ desk, agents: [adapter], onError: (error) => console.error(error) })
  for (let count = 0; count < SESSIONS; count += BATCH_SIZE) {
    const batch = Array.from({ length: BATCH_SIZE }, () => ask(host, home))
    await Promise.all(batch)
    while ((await desk.pending({ limit: 100 })).interactions.length < count + BATCH_SIZE) await sleep(100)
  }
  // Waits until the number of processes has not changed for five seconds.
  let measured = memoryOf(home)
  for (let unchanged = 0; unchanged < 10; unchanged += 1) {
    await sleep(500)
    const now = memoryOf(home)
    if (now.processes !== measured.processes) unchanged = 0
    measured = now
  }
  await host.close()
  await rm(home, { recursive: true, force: true, maxRetries: 10 })
  return measured
}

/**
 * @param {import('@askback/core').Host} host
 * @param {string} cwd
 */
async function ask(host, cwd) {
  const { session } = await host.createSession({ cwd })
  await host.as({ by: { id: 'bench' }, via: 'direct' }).message({ sessionId: session.id, text: 'Ask me.' })
}

/**
 * The memory of the agent's processes. Pages that several processes share are divided among them (Pss).
 *
 * @param {string} home
 */
function memoryOf(home) {
  let kilobytes = 0
  let processes = 0
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (!readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`HOME=${home}\0`)) continue
      const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
      kilobytes += Number(/^Pss:\s+(\d+)/mu.exec(rollup)?.[1] ?? 0)
      processes += 1
    } catch {
      // The process has ended meanwhile.
    }
  }
  return { processes, mb: Math.round(kilobytes / 1024) }
}

/** @param {string} home */
function environment(home) {
  return {
    PATH: process.env['PATH'],
    HOME: home,
    ANTHROPIC_BASE_URL: endpoint.url,
    ANTHROPIC_API_KEY: 'dummy',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_TELEMETRY: '1',
  }
}

/** @returns {Promise<import('@askback/agents/claude').ClaudeSdk>} */
async function loadSdk() {
  const require = createRequire(new URL('../../tests/agents/package.json', import.meta.url))
  const path = pathToFileURL(require.resolve('@anthropic-ai/claude-agent-sdk')).href
  return /** @type {import('@askback/agents/claude').ClaudeSdk} */ (await import(path))
}

/** Starts a scripted model that answers every message with a question. */
async function startAskingModel() {
  const options = ['Red', 'Blue'].map((label) => ({ label, description: label }))
  const input = { questions: [{ header: 'Pick', question: 'Which?', options, multiSelect: false }] }
  let count = 0
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const id = `toolu_bench${(count += 1)}`
    const usage = { input_tokens: 1, output_tokens: 1 }
    const message = { id: `msg_${count}`, type: 'message', role: 'assistant', model: 'm', content: [], usage }
    const block = { type: 'tool_use', id, name: 'AskUserQuestion', input: {} }
    for (const [type, data] of /** @type {[string, object][]} */ ([
      ['message_start', { message }],
      ['content_block_start', { index: 0, content_block: block }],
      [
        'content_block_delta',
        { index: 0, delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) } },
      ],
      ['content_block_stop', { index: 0 }],
      ['message_delta', { delta: { stop_reason: 'tool_use' }, usage }],
      ['message_stop', {}],
    ]))
      response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
    response.end()
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const address = /** @type {import('node:net').AddressInfo} */ (server.address())
  return { url: `http://127.0.0.1:${address.port}`, close: () => void server.close() }
}
