import { rm } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest'
import { codexAgent } from '@askback/agents/codex'
import type { AgentAdapter, AgentProcess } from '@askback/core'
import { agentContract } from '@askback/core/testing'
import { folderOf } from './agent-session.js'
import { startCodexEndpoint, type CodexEndpoint } from './codex-endpoint.js'
import { codex, codexEnv, codexHome } from './codex-session.js'

vi.setConfig({ testTimeout: 30_000 })

const started: AgentProcess[] = []
let endpoint: CodexEndpoint
let home: string

beforeAll(async () => {
  const folder = await folderOf('work')
  endpoint = await startCodexEndpoint(
    { when: 'say hello', steps: [{ say: [{ text: 'Hello. What shall we do today?' }] }] },
    {
      when: 'ask me',
      steps: [
        { say: [{ tool: 'request_user_input', input: { questions: [yesOrNo] } }] },
        { say: [{ text: 'Good.' }] },
      ],
    },
    { when: 'You were stopped', steps: [{ say: [{ text: 'I see.' }] }] },
    {
      when: 'make a file',
      steps: [
        { say: [{ tool: 'exec_command', input: { cmd: `touch ${folder}/made` } }] },
        { say: [{ text: 'That was it.' }] },
      ],
    },
  )
  home = await codexHome(endpoint.url)
})

afterEach(async () => {
  await Promise.all(started.splice(0).map((agent) => agent.stop()))
  expect(endpoint.problems).toEqual([])
})

afterAll(async () => {
  await endpoint.close()
  await rm(home, { recursive: true })
})

const yesOrNo = {
  id: 'go',
  header: 'Go on?',
  question: 'Shall I go on?',
  options: [
    { label: 'Yes', description: 'Go on' },
    { label: 'No', description: 'Stop here' },
  ],
}

agentContract('Codex', () => ({
  adapter: remembering(codexAgent({ env: codexEnv(home), executable: codex })),
  messages: { plain: 'say hello', question: 'ask me', approval: 'make a file' },
}))

/** So that no process outlives its test. */
function remembering(adapter: AgentAdapter): AgentAdapter {
  return {
    ...adapter,
    async start(context) {
      const agent = await adapter.start(context)
      started.push(agent)
      return agent
    },
  }
}
