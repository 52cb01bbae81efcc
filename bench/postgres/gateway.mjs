import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/**
 * The body of a response has some of these.
 *
 * @typedef {{
 *   session: { id: string }
 *   interaction: { interactionId: string }
 *   state: {
 *     pending: { kind: string; interactionId: string; toolCallId: string; request: typeof question.request }[]
 *     toolCalls: { toolCallId: string; result?: unknown }[]
 *   }
 * }} ResponseBody
 */

const program = fileURLToPath(new URL('../../packages/cli/bin/askback.js', import.meta.url))

/** @param {string} store @param {string[]} flags */
export async function startGateway(store, flags = []) {
  const data = mkdtempSync(join(tmpdir(), 'askback-bench-'))
  writeFileSync(join(data, 'config.json'), JSON.stringify({ limits: { agentRequestsPerSecond: null } }))
  const child = spawn(
    process.execPath,
    [program, 'serve', '--port', '0', '--json', '--data', data, '--store', store, ...flags],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const [line] = /** @type {[string]} */ (await once(createInterface({ input: child.stdout }), 'line'))
  const ready = /** @type {{ url: string; token: string; agentToken: string; pid: number }} */ (
    JSON.parse(line)
  )
  return {
    ...ready,
    /**
     * @param {string} method
     * @param {string} path
     * @param {{ body?: unknown; as?: string }} [options]
     * @returns {Promise<ResponseBody>}
     */
    async call(method, path, { body, as = ready.token } = {}) {
      const response = await fetch(ready.url + path, {
        method,
        headers: {
          authorization: `Bearer ${as}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      if (!response.ok) throw new Error(`${method} ${path} got ${response.status}: ${await response.text()}`)
      return /** @type {ResponseBody} */ (await response.json())
    },
    /** CPU time so far, in milliseconds. */
    cpu() {
      const threads = readdirSync(`/proc/${ready.pid}/task`)
      const nanoseconds = threads.map((thread) =>
        Number(readFileSync(`/proc/${ready.pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]),
      )
      return nanoseconds.reduce((sum, time) => sum + time, 0) / 1e6
    },
    /** @param {NodeJS.Signals} signal */
    async stop(signal = 'SIGTERM') {
      const ended = once(child, 'exit')
      child.kill(signal)
      await ended
      rmSync(data, { recursive: true, force: true })
    },
  }
}

/** It names its own tool call, so that it does not wait for one to be reported. */
export const question = {
  toolCallId: 'call',
  kind: 'question',
  timeoutMs: null,
  request: {
    questions: [{ header: 'h', question: 'Which?', options: [{ label: 'This' }], multiSelect: false }],
  },
}
export const answer = { answer: { answers: [{ selected: ['This'] }] } }
