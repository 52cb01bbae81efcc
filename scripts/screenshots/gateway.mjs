import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../workspace.mjs'

/** @typedef {Awaited<ReturnType<typeof startGateway>>} Gateway */
/** @typedef {{ sessionId: string; interactionId: string }} InteractionIds */

/** Starts a gateway with default settings on an empty data folder. */
export async function startGateway() {
  const data = mkdtempSync(join(tmpdir(), 'askback-screenshots-'))
  const command = join(root, 'packages/cli/bin/askback.js')
  const child = spawn(process.execPath, [command, 'serve', '--port', '0', '--data', data, '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(child.stdout, 'data')
  /** @type {{ url: string; openUrl: string; token: string; agentToken: string }} */
  const ready = JSON.parse(String(line))

  /**
   * @param {string} path
   * @param {unknown} [body]
   * @param {{ method?: string; as?: string }} [options]
   * @returns {Promise<any>}
   */
  async function call(path, body, { method = 'POST', as = ready.token } = {}) {
    const response = await fetch(`${ready.url}/api${path}`, {
      method,
      headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
      ...(method === 'POST' && { body: JSON.stringify(body ?? {}) }),
    })
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
    return response.json()
  }

  return {
    url: ready.url,
    openUrl: ready.openUrl,
    call,

    /**
     * @param {string | null} agent
     * @param {{ title?: string; cwd?: string; text?: string }} [about]
     * @returns {Promise<string>}
     */
    async session(agent, { text, ...about } = {}) {
      const { session } = /** @type {{ session: { id: string } }} */ (
        await call('/sessions', { agent, ...about })
      )
      if (text !== undefined) await call(`/sessions/${session.id}/messages`, { text })
      return session.id
    },

    /**
     * @param {string} sessionId
     * @param {object} body
     * @returns {Promise<InteractionIds>}
     */
    async ask(sessionId, body) {
      const { interaction } = await call(`/sessions/${sessionId}/interactions`, body, {
        as: ready.agentToken,
      })
      return interaction
    },

    /**
     * Waits for the oldest pending interaction of a session.
     *
     * @param {string} sessionId
     * @returns {Promise<InteractionIds>}
     */
    async pending(sessionId) {
      for (;;) {
        const { interactions } = /** @type {{ interactions: InteractionIds[] }} */ (
          await call('/interactions?status=pending', null, { method: 'GET' })
        )
        const found = interactions.find((each) => each.sessionId === sessionId)
        if (found) return found
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    },

    /**
     * @param {InteractionIds} ids
     * @param {unknown} answer
     */
    async answer({ sessionId, interactionId }, answer) {
      await call(`/sessions/${sessionId}/interactions/${interactionId}/response`, { answer })
    },

    /** @param {InteractionIds} ids */
    async cancel({ sessionId, interactionId }) {
      await call(`/sessions/${sessionId}/interactions/${interactionId}`, null, { method: 'DELETE' })
    },

    /**
     * Reports several tool calls of one turn, as an outside agent does.
     *
     * @param {string} sessionId
     * @param {number} turn
     */
    async reportCalls(sessionId, turn) {
      const calls = Array.from({ length: 1 + (turn % 6) }, (_, index) => `call-${turn}-${index}`)
      for (const toolCallId of calls) {
        const turnId = `turn-${turn}`
        const reported = {
          toolCallId,
          toolName: 'Read',
          input: { file_path: `src/${toolCallId}.ts` },
          turnId,
        }
        await call(`/sessions/${sessionId}/tool-calls`, reported, { as: ready.agentToken })
        const result = { output: 'export {}', isError: turn % 9 === 8 }
        await call(`/sessions/${sessionId}/tool-calls/${toolCallId}/result`, result, { as: ready.agentToken })
      }
    },

    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
      rmSync(data, { recursive: true })
    },
  }
}
