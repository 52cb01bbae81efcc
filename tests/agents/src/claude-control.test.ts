import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { sayHello } from './agent-session.js'
import { startClaudeEndpoint, type ClaudeEndpoint } from './claude-endpoint.js'
import { eventually } from './eventually.js'
import { folderOf } from './folders.js'
import {
  atLeastProcesses,
  claudeEnv,
  claudeSession,
  helloScenario,
  me,
  run,
  sleepScenario,
} from './claude-session.js'
import { isAlive, programOf, programsOf } from './processes.js'

let endpoint: ClaudeEndpoint
beforeAll(async () => {
  endpoint = await startClaudeEndpoint(helloScenario, sleepScenario, {
    when: 'make it',
    steps: [{ say: [run('touch made')] }, { say: [{ text: 'Made.' }] }],
  })
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

describe.concurrent('a session', () => {
  it('has one process over several turns, and streams each block', async () => {
    const session = await claudeSession({ url: endpoint.url })
    const pieces: string[] = []
    session.host.onLive(({ event }) => {
      if (event.type === 'text_delta') pieces.push(event.text)
    })
    await sayHello(session, 1)
    const first = programOf(session.home)
    await sayHello(session, 2)
    expect(programOf(session.home)).toBe(first)
    expect(pieces.join('')).toBe('Hello again.Hello again.')
    expect((await session.of('turn_ended'))[1]!.usage).toMatchObject({ inputTokens: 10, outputTokens: 5 })
    await session.close()
    await eventually(() => expect(isAlive(first)).toBe(false))
    await eventually(() => expect(programsOf(session.home)).toEqual([]))
  })

  it('streams and then logs thoughts, calls and texts, and reports the cost', async () => {
    const when = 'think first'
    const thinking = 'A list of files would help here.'
    endpoint.add({
      when,
      steps: [{ say: [{ thinking }, run('ls')] }, { say: [{ text: 'Nothing here.' }] }],
    })
    const session = await claudeSession({ url: endpoint.url })
    const pieces: Record<string, string> = {}
    session.host.onLive(({ event }) => {
      const piece = event.type === 'tool_call_delta' ? event.partialInput : event.text
      pieces[event.type] = (pieces[event.type] ?? '') + piece
    })
    await session.say(when)
    const [ended] = await session.until('turn_ended')
    const input = { command: 'ls', description: 'Runs' }
    expect(pieces).toEqual({
      thinking_delta: thinking,
      tool_call_delta: JSON.stringify(input),
      text_delta: 'Nothing here.',
    })
    expect(await session.of('thinking')).toMatchObject([{ text: thinking }])
    expect(await session.of('tool_call')).toMatchObject([{ toolName: 'Bash', input, source: 'agent' }])
    expect(await session.of('tool_result')).toMatchObject([{ isError: false }])
    expect(ended!.usage!.costUsd).toBeGreaterThan(0)
    await session.close()
  })

  it('is interrupted without one more request to the model', async () => {
    const when = 'interrupt me'
    endpoint.add({ when, steps: [{ say: [run('touch never')] }] })
    const session = await claudeSession({ url: endpoint.url })
    await session.say(when)
    await session.pending()
    await session.host.as(me).interrupt(session.sessionId)
    expect((await session.of('turn_ended'))[0]).toMatchObject({ reason: 'interrupted' })
    expect(endpoint.of(when)).toHaveLength(1)
    await sayHello(session, 2)
    expect(endpoint.of(when)).toHaveLength(1)
    await session.close()
  })

  it('a call that runs during an interrupt counts as interrupted, not as failed', async () => {
    const session = await claudeSession({ url: endpoint.url, mode: 'bypassPermissions' })
    await session.say('sleep long')
    await session.until('interaction_delivered')
    await atLeastProcesses(6, session.home)
    await session.host.as(me).interrupt(session.sessionId)
    expect(await session.of('tool_result')).toMatchObject([{ isError: true, settledBy: 'interrupted' }])
    await session.close()
  })

  it('that is cleared starts an empty conversation with the next message', async () => {
    const session = await claudeSession({ url: endpoint.url })
    await session.say('make it')
    await session.pending()
    await session.host.as(me).clear(session.sessionId)
    await sayHello(session, 2)
    const last = endpoint.of('say hello').at(-1)
    expect(JSON.stringify(last?.messages)).toContain('say hello')
    expect(JSON.stringify(last?.messages)).not.toContain('make it')
    expect(await session.of('agent_session')).toHaveLength(2)
    await session.close()
  })

  it('accepts a message in the middle of a turn, and ends the turn when both are answered', async () => {
    const when = 'start with this'
    const both = { expects: ['and then this'], say: [{ text: 'This and that.' }] }
    endpoint.add({ when, steps: [{ say: [run('touch first')] }, both] })
    const session = await claudeSession({ url: endpoint.url })
    await session.say(when)
    const [item] = await session.pending()
    await session.say('and then this')
    await session.answer(item!, { decision: 'approve' })
    await session.until('turn_ended')
    expect((await session.of('text')).map(({ text }) => text)).toEqual(['This and that.'])
    expect((await session.host.snapshot(session.sessionId)).session.status).toBe('idle')
    await session.close()
  })

  it('leaves no process running, shells of the agent included', async () => {
    const session = await claudeSession({ url: endpoint.url, mode: 'bypassPermissions' })
    await session.say('sleep long')
    await session.until('interaction_delivered')
    const pids = await atLeastProcesses(6, session.home)
    await session.host.as(me).deleteSession(session.sessionId)
    await eventually(() => expect(pids.filter(isAlive)).toEqual([]))
    await session.host.close()
  })

  it('removes tokens and databases from the agent’s environment, and adds what its shells need to reach Askback', async () => {
    const when = 'show the environment'
    endpoint.add({ when, steps: [{ say: [run('env > seen.txt')] }, { say: [{ text: 'Seen.' }] }] })
    const home = await folderOf('home')
    const secret = {
      ASKBACK_TOKEN: 'person',
      DATABASE_URL: 'x',
      STORE: 'postgres://u:p@h/db',
      HARMLESS: 'yes',
    }
    const session = await claudeSession({
      url: endpoint.url,
      mode: 'bypassPermissions',
      agent: { env: { ...claudeEnv(endpoint.url, home), ...secret } },
      shells: { ASKBACK_AGENT_TOKEN: 'agent' },
    })
    await session.say(when)
    await session.until('turn_ended')
    const seen = await readFile(`${session.cwd}/seen.txt`, 'utf8')
    expect(seen).toContain('HARMLESS=yes')
    expect(seen).toContain('ASKBACK_AGENT_TOKEN=agent')
    expect(seen).not.toMatch(/ASKBACK_TOKEN|DATABASE_URL|postgres:/)
    await session.close()
  })
})
