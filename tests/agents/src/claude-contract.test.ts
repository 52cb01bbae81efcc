import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest'
import * as sdk from '@anthropic-ai/claude-agent-sdk'
import { claudeAgent } from '@askback/agents/claude'
import type { AgentAdapter, AgentProcess } from '@askback/core'
import { agentContract } from '@askback/core/testing'
import { startClaudeEndpoint, type ClaudeEndpoint } from './claude-endpoint.js'
import { folderOf } from './claude-folders.js'
import { claudeEnv } from './claude-session.js'

vi.setConfig({ testTimeout: 30_000 })

const started: AgentProcess[] = []
let endpoint: ClaudeEndpoint
let home: string

beforeAll(async () => {
  home = await folderOf('home')
  endpoint = await startClaudeEndpoint(
    { when: 'say hello', steps: [{ say: [{ text: 'Hello. What shall we do today?' }] }] },
    {
      when: 'ask me',
      steps: [
        { say: [{ tool: 'AskUserQuestion', input: { questions: [yesOrNo] } }] },
        { say: [{ text: 'Good.' }] },
      ],
    },
    { when: 'You were stopped', steps: [{ say: [{ text: 'I see.' }] }] },
    {
      when: 'make a file',
      steps: [
        { say: [{ tool: 'Bash', input: { command: `touch ${home}/made`, description: 'Makes a file' } }] },
        { say: [{ text: 'That was it.' }] },
      ],
    },
  )
})

afterEach(async () => {
  await Promise.all(started.splice(0).map((agent) => agent.stop()))
  expect(endpoint.problems).toEqual([])
})

afterAll(() => endpoint.close())

const yesOrNo = {
  header: 'Go on?',
  question: 'Shall I go on?',
  options: [
    { label: 'Yes', description: 'Go on' },
    { label: 'No', description: 'Stop here' },
  ],
  multiSelect: false,
}

agentContract('Claude', () => ({
  adapter: remembering(claudeAgent({ env: claudeEnv(endpoint.url, home), sdk: () => Promise.resolve(sdk) })),
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
