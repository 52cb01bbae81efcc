import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { acpAgent } from '@askback/agents/acp'
import type { ApprovalRequest, PermissionMode } from '@askback/protocol'
import { agentSession, me, type Before } from './agent-session.js'
import { folderOf } from './folders.js'
import { isAlive, programsOf } from './processes.js'

vi.setConfig({ testTimeout: 30_000 })

interface Place {
  home?: string
  cwd?: string
  mode?: PermissionMode
  before?: Before & { home: string; cwd: string }
}

async function begin({ mode, before, ...place }: Place = {}) {
  const home = before?.home ?? place.home ?? (await folderOf('home'))
  const cwd = before?.cwd ?? place.cwd ?? (await folderOf('work'))
  const adapter = acpAgent({
    id: 'scripted',
    name: 'Scripted',
    command: process.execPath,
    args: [join(import.meta.dirname, 'acp-agent.mjs')],
    env: { PATH: process.env['PATH'], HOME: home },
  })
  const session = await agentSession({ adapter, cwd, ...(mode && { mode }), ...(before && { before }) })
  return { ...session, home, cwd }
}

describe.concurrent('permission', () => {
  it('shows the diff, and is given once only, whatever the agent offers', async () => {
    const session = await begin()
    await session.say('make a file')
    const [item] = await session.pending()
    const path = join(session.cwd, 'made.txt')
    expect(item).toMatchObject({ kind: 'approval', toolName: 'edit' })
    expect(item!.request as ApprovalRequest).toMatchObject({
      input: { path, text: 'made\n' },
      title: 'Write made.txt',
      preview: { diffs: [{ path, oldText: '', newText: 'made\n' }] },
    })
    await session.answer(item!, { decision: 'approve', scope: 'session' })
    await session.until('turn_ended')
    expect((await session.of('tool_result'))[0]!.output).toContain('"optionId":"yes"')
    expect(existsSync(path)).toBe(true)
    await session.say('make a file')
    await session.until('turn_ended', 2)
    expect((await session.of('interaction_response'))[1]).toMatchObject({ via: 'policy' })
    await session.close()
  })

  it('for a call that was never told of stands at a placeholder', async () => {
    const session = await begin()
    await session.say('make a file unannounced')
    const [item] = await session.pending()
    const [call] = await session.of('tool_call')
    expect(call).toMatchObject({ toolCallId: item!.toolCallId, toolName: 'edit' })
    await session.answer(item!, { decision: 'approve' })
    await session.until('turn_ended')
    expect(await session.of('tool_call')).toHaveLength(1)
    await session.close()
  })

  it('that is denied with words tells them to the agent next, in the same turn', async () => {
    const session = await begin()
    await session.say('make a file')
    const [item] = await session.pending()
    await session.answer(item!, { decision: 'deny', message: 'use another name' })
    await session.until('turn_ended')
    expect((await session.of('text')).map(({ text }) => text).join('')).toContain('says: use another name')
    expect(await session.of('turn_started')).toHaveLength(1)
    await session.close()
  })

  it('in acceptEdits is given for changes inside the folder', async () => {
    const session = await begin({ mode: 'acceptEdits' })
    await session.say('make a file')
    await session.until('turn_ended')
    expect((await session.of('interaction_response'))[0]).toMatchObject({ via: 'policy' })
    await session.close()
  })
})

describe.concurrent('elicitation', () => {
  it('is a form at its tool call', async () => {
    const session = await begin()
    await session.say('ask me')
    const [item] = await session.pending()
    expect(item).toMatchObject({ kind: 'form', toolCallId: (await session.of('tool_call'))[0]!.toolCallId })
    await session.answer(item!, { values: { nights: 3 } })
    await session.until('turn_ended')
    expect((await session.of('text'))[0]!.text).toContain('{"action":"accept","content":{"nights":3}}')
    await session.close()
  })

  it('of a page asks whether it is done', async () => {
    const session = await begin()
    await session.say('open a page')
    const [item] = await session.pending()
    expect(JSON.stringify(item!.request)).toContain('https://example.org/login')
    await session.answer(item!, { answers: [{ selected: ['Done'] }] })
    await session.until('turn_ended')
    expect((await session.of('text'))[0]!.text).toContain('accept')
    await session.close()
  })
})

describe.concurrent('a session', () => {
  it('shows the agent’s plan', async () => {
    const session = await begin()
    await session.say('make a list')
    await session.until('turn_ended')
    expect((await session.of('tool_call'))[0]).toMatchObject({
      toolName: 'update_plan',
      input: { entries: [{ content: 'Think', status: 'in_progress' }] },
    })
    await session.close()
  })

  it('goes on after a restart, without telling its history twice', async () => {
    const first = await begin()
    await first.say('say hello')
    await first.until('turn_ended')
    await first.close()
    const second = await begin({ before: first })
    await second.say('what do you know')
    await second.until('turn_ended', 2)
    expect((await second.of('text')).map(({ text }) => text)).toEqual([
      'Hello. What shall we do today?',
      'I know ["say hello","what do you know"].',
    ])
    await second.close()
  })

  it('starts over where the agent has lost the conversation', async () => {
    const first = await begin()
    await first.say('say hello')
    await first.until('turn_ended')
    await first.close()
    await writeFile(join(first.home, 'acp-sessions.json'), '{}')
    const second = await begin({ before: first })
    await second.say('say hello')
    await second.until('turn_ended', 2)
    expect((await second.of('error'))[0]!.message).toContain('lost the earlier conversation')
    await second.close()
  })

  it('leaves no process behind', async () => {
    const session = await begin()
    await session.say('make a file')
    await session.pending()
    const pids = await programsOf(session.home)
    expect(pids.length).toBeGreaterThan(0)
    await session.host.deleteSession(session.sessionId, me)
    await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), 10_000)
    await session.close()
  })
})

describe.concurrent('a failure', () => {
  it('of a prompt is an error event, and the session goes on', async () => {
    const session = await begin()
    await session.say('fail now')
    await session.until('turn_ended')
    expect((await session.of('error'))[0]).toMatchObject({ code: 'agent_error', fatal: false })
    await session.say('say hello')
    expect((await session.until('turn_ended', 2))[1]).toMatchObject({ reason: 'done' })
    await session.close()
  })

  it('of the program is a loss, and the next message starts it again', async () => {
    const session = await begin()
    await session.say('die now')
    await session.until('turn_ended')
    expect((await session.of('error'))[0]).toMatchObject({ code: 'agent_lost' })
    await session.say('say hello')
    expect((await session.until('turn_ended', 2))[1]).toMatchObject({ reason: 'done' })
    await session.close()
  })

  it('a folder that does not exist is said by name', async () => {
    const session = await begin({ cwd: '/nowhere/at/all' })
    await session.say('say hello')
    await session.until('turn_ended')
    expect((await session.of('error'))[0]!.message).toContain('/nowhere/at/all')
    await session.close()
  })

  it('a program that is not there is said in one line', async () => {
    const missing = acpAgent({ id: 'x', name: 'Nobody', command: 'no-such-agent', env: { PATH: '/usr/bin' } })
    expect(await missing.check()).toEqual({
      available: false,
      reason: 'There is no no-such-agent to run: install Nobody, or correct its command.',
    })
  })
})
