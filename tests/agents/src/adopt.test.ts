import { readdir } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { parseHistory } from '@askback/agents/adopt'
import { claudeAgent } from '@askback/agents/claude'
import { codexAgent } from '@askback/agents/codex'
import * as sdk from '@anthropic-ai/claude-agent-sdk'
import { createDesk, memoryStore, type Store } from '@askback/core'
import type { AdoptBody } from '@askback/protocol'
import { agentSession } from './agent-session.js'
import { folderOf } from './folders.js'
import { startClaudeEndpoint, type ClaudeEndpoint } from './claude-endpoint.js'
import { claudeEnv } from './claude-session.js'
import { startCodexEndpoint, type CodexEndpoint } from './codex-endpoint.js'
import { codex, codexEnv, codexSession } from './codex-session.js'

let claudeModel: ClaudeEndpoint
let codexModel: CodexEndpoint
const askAgain = { when: 'what did I say', steps: [{ say: [{ text: 'You said it.' }] }] }

beforeAll(async () => {
  codexModel = await startCodexEndpoint(askAgain, {
    when: 'list the folder',
    steps: [
      { say: [{ tool: 'exec_command', input: { cmd: 'ls' }, id: 'call_ls' }] },
      { say: [{ text: 'Listed.' }] },
    ],
  })
  claudeModel = await startClaudeEndpoint(askAgain, {
    when: 'list the folder',
    steps: [
      { say: [{ tool: 'Bash', input: { command: 'ls', description: 'Lists' }, id: 'toolu_ls' }] },
      { say: [{ text: 'Listed.' }] },
    ],
  })
})
afterEach(() => expect([...codexModel.problems, ...claudeModel.problems]).toEqual([]))
afterAll(() => Promise.all([codexModel.close(), claudeModel.close()]))

async function adopt(store: Store, history: AdoptBody): Promise<string> {
  const desk = createDesk({ store })
  const { session } = await desk.as({ by: { id: 'ada' } }).adopt(history)
  desk.close()
  return session.id
}

const itemTypes = ['user_message', 'tool_call', 'tool_result', 'text']

/** The history in the transcript below the folder, once the program has written all of it. */
async function historyOf(folder: string): Promise<AdoptBody> {
  const read = async () => {
    const names = await readdir(folder, { recursive: true })
    const name = names.find((one) => one.endsWith('.jsonl'))
    return parseHistory(readFileSync(join(folder, name ?? ''), 'utf8'))
  }
  await expect.poll(async () => (await read()).items.map(({ type }) => type)).toEqual(itemTypes)
  return read()
}

it('adopts a rollout of Codex, and continues its thread', async () => {
  const outside = await codexSession({ url: codexModel.url, mode: 'bypassPermissions' })
  await outside.say('list the folder')
  await outside.until('turn_ended')
  const [thread] = await outside.of('agent_session')
  const history = await historyOf(join(outside.home, '.codex/sessions'))
  await outside.close()
  expect(history).toMatchObject({
    agent: 'codex',
    agentSessionId: thread!.agentSessionId,
    cwd: outside.cwd,
    title: 'list the folder',
  })
  const store = memoryStore()
  const sessionId = await adopt(store, history)
  const adapter = codexAgent({ env: codexEnv(outside.home), executable: codex })
  const session = await agentSession({ adapter, cwd: outside.cwd, before: { store, sessionId } })
  await session.say('what did I say')
  await session.until('turn_ended', 2)
  expect(JSON.stringify(codexModel.of('what did I say'))).toContain('list the folder')
  expect(await session.of('error')).toEqual([])
  await session.close()
})

it('adopts a transcript of Claude Code, and continues its session', async () => {
  const home = await folderOf('home')
  const cwd = await folderOf('work')
  const adapter = claudeAgent({ env: claudeEnv(claudeModel.url, home), sdk: () => Promise.resolve(sdk) })
  const outside = await agentSession({ adapter, cwd })
  await outside.say('list the folder')
  await outside.until('turn_ended')
  const history = await historyOf(join(home, '.claude/projects'))
  await outside.close()
  expect(history).toMatchObject({ agent: 'claude', cwd, title: 'list the folder' })
  expect(history.items[1]).toMatchObject({ toolCallId: 'toolu_ls', toolName: 'Bash' })
  const store = memoryStore()
  const sessionId = await adopt(store, history)
  const session = await agentSession({ adapter, cwd, before: { store, sessionId } })
  await session.say('what did I say')
  await session.until('turn_ended', 2)
  expect(JSON.stringify(claudeModel.of('what did I say'))).toContain('list the folder')
  expect(await session.of('error')).toEqual([])
  await session.close()
})

it('refuses a file that is no transcript', () => {
  for (const text of ['', 'hello', '{}', '[1]\n{"type":"user"}', '{"type":"session_meta"}'])
    expect(() => parseHistory(text)).toThrow('neither a transcript of Claude Code nor a rollout of Codex')
})
