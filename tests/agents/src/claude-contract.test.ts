import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import * as sdk from '@anthropic-ai/claude-agent-sdk'
import { claudeAgent } from '@askback/agents/claude'
import { startClaudeEndpoint, type ClaudeEndpoint } from './claude-endpoint.js'
import { claudeEnv } from './claude-session.js'
import { contractScenarios, testContract, yesOrNo } from './contract.js'
import { folderOf } from './folders.js'

let endpoint: ClaudeEndpoint
let home: string
beforeAll(async () => {
  home = await folderOf('home')
  const ask = { tool: 'AskUserQuestion', input: { questions: [{ ...yesOrNo, multiSelect: false }] } }
  const make = { tool: 'Bash', input: { command: `touch ${home}/made`, description: 'Makes a file' } }
  endpoint = await startClaudeEndpoint(...contractScenarios(ask, make))
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

testContract('Claude', () =>
  claudeAgent({ env: claudeEnv(endpoint.url, home), sdk: () => Promise.resolve(sdk) }),
)
