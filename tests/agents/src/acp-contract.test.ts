import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, vi } from 'vitest'
import { acpAgent } from '@askback/agents/acp'
import type { AgentAdapter, AgentProcess } from '@askback/core'
import { agentContract } from '@askback/core/testing'
import { folderOf } from './agent-session.js'

vi.setConfig({ testTimeout: 30_000 })

const started: AgentProcess[] = []
let home: string

beforeAll(async () => {
  home = await folderOf('home')
})
afterEach(() => Promise.all(started.splice(0).map((agent) => agent.stop())))
afterAll(() => rm(home, { recursive: true }))

agentContract('An agent by the Agent Client Protocol', () => ({
  adapter: remembering(
    acpAgent({
      id: 'scripted',
      name: 'Scripted',
      command: process.execPath,
      args: ['-e', `process.chdir(${JSON.stringify(home)}); import(${JSON.stringify(agentFile)})`],
      env: { PATH: process.env['PATH'], HOME: home },
    }),
  ),
  messages: { plain: 'say hello', question: 'ask me', approval: 'make a file' },
  asks: { kind: 'form', answer: { values: { nights: 2 } } },
}))

const agentFile = join(import.meta.dirname, 'acp-agent.mjs')

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
