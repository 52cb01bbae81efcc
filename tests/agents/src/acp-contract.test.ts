import { join } from 'node:path'
import { beforeAll } from 'vitest'
import { acpAgent } from '@askback/agents/acp'
import { testContract } from './contract.js'
import { folderOf } from './folders.js'

const agentFile = join(import.meta.dirname, 'acp-agent.mjs')

let home: string
beforeAll(async () => {
  home = await folderOf('home')
})

testContract(
  'An agent by the Agent Client Protocol',
  () =>
    acpAgent({
      id: 'scripted',
      name: 'Scripted',
      command: process.execPath,
      args: ['-e', `process.chdir(${JSON.stringify(home)}); import(${JSON.stringify(agentFile)})`],
      env: { PATH: process.env['PATH'], HOME: home },
    }),
  { asks: { kind: 'form', answer: { values: { nights: 2 } } } },
)
