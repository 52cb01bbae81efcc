import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Api, startTestGateway, type TestGateway } from '../testing/index.js'

let gateway: TestGateway
let agent: Api
let id: string
let cwd: string
beforeEach(async () => {
  cwd = realpathSync(mkdtempSync(join(tmpdir(), 'askback-')))
  mkdirSync(join(cwd, '.git'))
  symlinkSync('.git', join(cwd, 'link'))
  gateway = await startTestGateway({ listen: false })
  const person = new Api(gateway)
  id = await person.session({ agent: null, cwd, permissionMode: 'acceptEdits' })
  agent = new Api(gateway, gateway.agentToken)
})
afterEach(async () => {
  await gateway.close()
  rmSync(cwd, { recursive: true })
})

const statusOf = async (file_path: string) => {
  const request = { input: { file_path, content: '' } }
  return (await agent.open(id, { kind: 'approval', toolName: 'Write', request })).status
}

it.each(['src/a.ts', '.gitignore'])('acceptEdits allows %s without asking', async (path) => {
  expect(await statusOf(path)).toBe('settled')
})

it.each([
  '.git/hooks/pre-commit',
  '.claude/settings.json',
  '.codex/config.toml',
  '.mcp.json',
  '.vscode/tasks.json',
  '.husky/pre-commit',
  '.envrc',
  '.npmrc',
  '.github/workflows/ci.yml',
  'link/config',
  '~/x',
  '$HOME/x',
])('acceptEdits requires approval before %s is written', async (path) => {
  expect(await statusOf(path)).toBe('pending')
})
