import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { codexAgent } from '@askback/agents/codex'
import { startCodexEndpoint, type CodexEndpoint } from './codex-endpoint.js'
import { codex, codexEnv, codexHome } from './codex-session.js'
import { contractScenarios, testContract, yesOrNo } from './contract.js'
import { folderOf } from './folders.js'

let endpoint: CodexEndpoint
let home: string
beforeAll(async () => {
  const folder = await folderOf('work')
  const ask = { tool: 'request_user_input', input: { questions: [{ id: 'go', ...yesOrNo }] } }
  const make = { tool: 'exec_command', input: { cmd: `touch ${folder}/made` } }
  endpoint = await startCodexEndpoint(...contractScenarios(ask, make))
  home = await codexHome(endpoint.url)
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

testContract('Codex', () =>
  codexAgent({ env: codexEnv(home), executable: codex, detachedFolder: `${home}/running` }),
)
