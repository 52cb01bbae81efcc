import { spawn } from 'node:child_process'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { file, newFolder } from '../../e2e/http/command.js'
import type { RunningGateway } from '../../e2e/http/gateways.js'
import { startCodexEndpoint, type CodexEndpoint } from './codex-endpoint.js'
import { codex, codexEnv, codexHome } from './codex-session.js'
import { folderOf } from './folders.js'
import { answerAt, pendingAt, startGateway } from './outside-gateway.js'

let endpoint: CodexEndpoint
let gateway: RunningGateway
beforeAll(async () => {
  endpoint = await startCodexEndpoint()
  gateway = await startGateway(newFolder())
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(async () => {
  await gateway.stop('SIGKILL')
  await endpoint.close()
})

/** `codex exec` cannot ask for approval, so it runs only MCP tools whose annotations say that they change nothing. */
async function codexExec(prompt: string, how: 'stdio' | 'http'): Promise<string> {
  const { ready, data } = gateway
  const server =
    how === 'stdio'
      ? `command = ${JSON.stringify(process.execPath)}\nargs = ${JSON.stringify([file, 'mcp', '--data', data])}`
      : `url = "${ready.url}/mcp"\nbearer_token_env_var = "ASKBACK_AGENT_TOKEN"`
  const home = await codexHome(endpoint.url, `[mcp_servers.askback]\n${server}\nrequired = true\n`)
  const child = spawn(codex, ['exec', '--skip-git-repo-check', prompt], {
    cwd: await folderOf('work'),
    env: { ...codexEnv(home), ASKBACK_AGENT_TOKEN: ready.agentToken },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const closed = new Promise((resolve) => child.once('close', resolve))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await closed
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (data: string) => (output += data))
  child.stderr.resume()
  await closed
  return output.trim()
}

describe.each(['stdio', 'http'] as const)('codex exec with Askback as an MCP server by %s', (how) => {
  it('asks the user, and the model gets the answer', async () => {
    const when = `which colour by ${how}`
    const questions = [{ question: 'Which colour?', options: [{ label: 'Red' }, { label: 'Blue' }] }]
    const expects = ['"Which colour?" = "Blue"']
    endpoint.add({
      when,
      steps: [
        { say: [{ tool: 'mcp__askback__ask_user', input: { questions } }] },
        { expects, say: [{ text: 'Blue.' }] },
      ],
    })
    const done = codexExec(when, how)
    const item = await Promise.race([
      pendingAt(gateway),
      done.then((said) => Promise.reject(new Error(`Codex ended without asking: ${said}`))),
    ])
    expect(item).toMatchObject({ kind: 'question', toolName: 'ask_user' })
    await answerAt(gateway, item, { answers: [{ selected: ['Blue'] }] })
    expect(await done).toBe('Blue.')
  })

  it('requests an approval, and the model gets the decision', async () => {
    const when = `may I deploy by ${how}`
    endpoint.add({
      when,
      steps: [
        { say: [{ tool: 'mcp__askback__request_approval', input: { tool: 'deploy', input: { to: how } } }] },
        { expects: ['denied', 'Not today'], say: [{ text: 'Then not.' }] },
      ],
    })
    const done = codexExec(when, how)
    const item = await Promise.race([
      pendingAt(gateway),
      done.then((said) => Promise.reject(new Error(`Codex ended without asking: ${said}`))),
    ])
    expect(item).toMatchObject({ kind: 'approval', toolName: 'deploy', request: { input: { to: how } } })
    await answerAt(gateway, item, { decision: 'deny', message: 'Not today.' })
    expect(await done).toBe('Then not.')
  })
})
