import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { acpAgent } from '@askback/agents/acp'
import type { PermissionMode } from '@askback/protocol'
import { agentSession, me } from './agent-session.js'
import { folderOf } from './folders.js'
import { startClaudeEndpoint, type ClaudeEndpoint } from './claude-endpoint.js'
import { claudeEnv } from './claude-session.js'

vi.setConfig({ testTimeout: 40_000 })

let endpoint: ClaudeEndpoint
beforeAll(async () => {
  const nothing = [{ say: [{ text: 'none' }] }]
  endpoint = await startClaudeEndpoint(
    { when: 'say hello', steps: [{ say: [{ text: 'Hello.' }] }] },
    // What this version asks its small model on the side.
    { when: 'Files modified by user:', steps: nothing },
    { when: 'Command: touch', steps: nothing },
  )
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

/** A published agent of the Agent Client Protocol, talking to a scripted model. */
async function begin(mode?: PermissionMode) {
  const cwd = await folderOf('work')
  const adapter = acpAgent({
    id: 'claude-code-acp',
    name: 'Claude by ACP',
    command: join(import.meta.dirname, '../node_modules/.bin/claude-code-acp'),
    env: { ...claudeEnv(endpoint.url, await folderOf('home')), IS_SANDBOX: '1' },
  })
  return { ...(await agentSession({ adapter, cwd, ...(mode && { mode }) })), cwd }
}

it('streams what it says', async () => {
  const session = await begin()
  await session.say('say hello')
  await session.until('turn_ended')
  expect((await session.of('text')).map(({ text }) => text)).toEqual(['Hello.'])
  await session.close()
})

it('asks for permission, runs what is approved, and tells the model of a denial', async () => {
  for (const decision of ['approve', 'deny']) {
    const when = `touch something, ${decision}`
    const input = { command: `touch ${decision}d`, description: 'Touches' }
    endpoint.add({ when, steps: [{ say: [{ tool: 'Bash', input }] }, { say: [{ text: 'Done.' }] }] })
    const session = await begin()
    await session.say(when)
    const [item] = await session.pending()
    expect(item).toMatchObject({ kind: 'approval', request: { input: { command: `touch ${decision}d` } } })
    expect((await session.of('tool_call'))[0]).toMatchObject({ toolCallId: item!.toolCallId })
    await session.answer(item!, { decision })
    await session.until('turn_ended')
    expect(existsSync(join(session.cwd, `${decision}d`))).toBe(decision === 'approve')
    await session.close()
  }
})

it('shows its list of things to do', async () => {
  const when = 'make a list'
  const todos = [{ content: 'Look', status: 'pending', activeForm: 'Looking' }]
  endpoint.add({
    when,
    steps: [{ say: [{ tool: 'TodoWrite', input: { todos } }] }, { say: [{ text: 'Listed.' }] }],
  })
  const session = await begin()
  await session.say(when)
  await session.until('turn_ended')
  const plans = (await session.of('tool_call')).filter(({ toolName }) => toolName === 'update_plan')
  expect(plans[0]).toMatchObject({ input: { entries: [{ content: 'Look' }] } })
  await session.close()
})

it('is interrupted while it asks', async () => {
  const when = 'touch and wait'
  const input = { command: 'touch never', description: 'Touches' }
  endpoint.add({ when, steps: [{ say: [{ tool: 'Bash', input }] }] })
  const session = await begin()
  await session.say(when)
  await session.pending()
  await session.host.interrupt(session.sessionId, me)
  expect((await session.of('turn_ended'))[0]).toMatchObject({ reason: 'interrupted' })
  await session.say('say hello')
  expect((await session.until('turn_ended', 2))[1]).toMatchObject({ reason: 'done' })
  await session.close()
})
