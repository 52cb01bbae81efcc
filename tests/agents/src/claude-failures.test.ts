import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as sdk from '@anthropic-ai/claude-agent-sdk'
import { freePort } from '@askback/store-postgres/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { claudeAgent } from '@askback/agents/claude'
import { sayHello } from './agent-session.js'
import { startClaudeEndpoint, type ClaudeEndpoint } from './claude-endpoint.js'
import {
  atLeastProcesses,
  claudeEnv,
  claudeSession,
  helloScenario,
  me,
  sleepScenario,
} from './claude-session.js'
import { eventually } from './eventually.js'
import { folderOf, removeStored } from './folders.js'
import { isAlive, programOf, programsOf } from './processes.js'

let endpoint: ClaudeEndpoint
beforeAll(async () => {
  endpoint = await startClaudeEndpoint(
    { when: 'You were stopped', steps: [{ expects: ['may have run'], say: [{ text: 'I will look.' }] }] },
    helloScenario,
    sleepScenario,
  )
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

describe.concurrent('a failure', () => {
  it.each<[number, string, RegExp]>([
    [400, 'invalid_request_error', /^API Error: 400 no, 400$/],
    [401, 'authentication_error', /set ANTHROPIC_API_KEY to a key that works, or log in.*401/],
    [403, 'permission_error', /set ANTHROPIC_API_KEY to a key that works, or log in.*no, 403/],
    [404, 'not_found_error', /selected model.*Choose another model/],
    [529, 'overloaded_error', /Overloaded.*Wait a while/],
  ])(
    'status %i of the endpoint is an error that says what to do, and the session continues',
    async (status, type, expected) => {
      const when = `refuse with ${status}`
      endpoint.add({ when, steps: [{ status, type, message: `no, ${status}` }] })
      const session = await claudeSession({ url: endpoint.url })
      await session.say(when)
      expect(await session.until('turn_ended')).toMatchObject([{ reason: 'error' }])
      const last = (await session.of('error')).at(-1)!
      expect(last).toMatchObject({ code: 'agent_error', fatal: false })
      expect(last.message).toMatch(expected)
      await sayHello(session, 2)
      await session.close()
    },
  )

  it.each<[number, string, RegExp]>([
    [429, 'rate_limit_error', /no more requests for now \(429\).*tries again in \d+ s/],
    [500, 'api_error', /The model failed \(500\).*tries again in \d+ s/],
  ])('status %i is retried, which the person sees and can interrupt', async (status, type, expected) => {
    const when = `fail with ${status}`
    endpoint.add({ when, steps: [{ status, type, message: 'later' }] })
    const session = await claudeSession({ url: endpoint.url })
    await session.say(when)
    const [notice] = await session.until('error')
    expect(notice).toMatchObject({ code: 'agent_retries', fatal: false })
    expect(notice!.message).toMatch(expected)
    await session.host.as(me).interrupt(session.sessionId)
    expect(await session.of('turn_ended')).toMatchObject([{ reason: 'interrupted' }])
    const requests = endpoint.of(when).length
    await sayHello(session, 2)
    expect(endpoint.of(when)).toHaveLength(requests)
    await session.close()
  })

  it('an endpoint that recovers gives an ordinary answer', async () => {
    const when = 'recover soon'
    const failure = { status: 500, type: 'api_error', message: 'later', times: 1 }
    endpoint.add({ when, steps: [failure, { say: [{ text: 'Here I am.' }] }] })
    const session = await claudeSession({ url: endpoint.url })
    await session.say(when)
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    expect(await session.of('text')).toMatchObject([{ text: 'Here I am.' }])
    await session.close()
  })

  it('an unreachable endpoint is reported, and can be interrupted', async () => {
    const session = await claudeSession({ url: `http://127.0.0.1:${await freePort()}` })
    await session.say('say hello')
    expect((await session.until('error'))[0]!.message).toMatch(/The model cannot be reached/)
    await session.host.as(me).interrupt(session.sessionId)
    expect(await session.of('turn_ended')).toMatchObject([{ reason: 'interrupted' }])
    await session.close()
  })

  it('a stream that ends in the middle is an error, and the session continues', async () => {
    const when = 'cut me off'
    endpoint.add({ when, steps: [{ say: [{ text: 'This is the beginning of a long story' }], ends: 'cut' }] })
    const session = await claudeSession({ url: endpoint.url })
    await session.say(when)
    await session.until('turn_ended')
    expect(await session.of('turn_ended')).toMatchObject([{ reason: 'error' }])
    expect((await session.of('error')).at(-1)!.message).toMatch(/^API Error/)
    const { live } = await session.host.snapshot(session.sessionId)
    expect(live).toEqual([])
    expect((await session.of('text'))[0]).toMatchObject({ text: 'This is the beginning of', partial: true })
    await sayHello(session, 2)
    await session.close()
  })

  it('an endpoint that hangs can be interrupted, and the partial text is logged', async () => {
    const when = 'hang on'
    endpoint.add({ when, steps: [{ say: [{ text: 'Half of' }], ends: 'never' }] })
    const session = await claudeSession({ url: endpoint.url })
    await session.say(when)
    await eventually(() =>
      expect(session.host.liveBlocks(session.sessionId)).toMatchObject([{ text: 'Half of' }]),
    )
    await session.host.as(me).interrupt(session.sessionId)
    expect((await session.of('turn_ended'))[0]).toMatchObject({ reason: 'interrupted' })
    expect(await session.of('text')).toMatchObject([{ text: 'Half of', partial: true }])
    expect((await session.host.snapshot(session.sessionId)).live).toEqual([])
    await sayHello(session, 2)
    await session.close()
  })

  it('a killed program is lost, and the next message starts it again', async () => {
    const session = await claudeSession({ url: endpoint.url, mode: 'bypassPermissions' })
    await session.say('sleep long')
    await session.until('interaction_delivered')
    const pids = await atLeastProcesses(6, session.home)
    process.kill(programOf(session.home), 'SIGKILL')
    await session.until('turn_ended')
    expect((await session.of('error'))[0]).toMatchObject({ code: 'agent_lost' })
    await eventually(() => expect(pids.filter(isAlive)).toEqual([]))
    await sayHello(session, 2)
    await session.close()
  })

  it('a program that hangs while it starts can be stopped', async () => {
    const executable = join(await folderOf('bin'), 'claude')
    await writeFile(executable, '#!/bin/sh\nexec tail -f /dev/null\n', { mode: 0o755 })
    const session = await claudeSession({ url: endpoint.url, agent: { executable } })
    const hangingPrograms = () => programsOf(session.home, 'tail')
    await session.say('say hello')
    await eventually(() => expect(hangingPrograms()).toHaveLength(1))
    await session.host.as(me).interrupt(session.sessionId)
    expect(await session.of('turn_ended')).toMatchObject([{ reason: 'interrupted' }])
    await eventually(() => expect(hangingPrograms()).toEqual([]))
    await session.say('say hello')
    await eventually(() => expect(hangingPrograms()).toHaveLength(1))
    await session.close()
    await eventually(() => expect(hangingPrograms()).toEqual([]))
  })

  it('a conversation that Claude Code has lost starts over with the message', async () => {
    const first = await claudeSession({ url: endpoint.url })
    await sayHello(first, 1)
    await first.close()
    await removeStored(first.home, '.claude/projects')
    const second = await claudeSession({ url: endpoint.url, before: first })
    await sayHello(second, 2)
    expect((await second.of('error'))[0]!.message).toContain('lost the earlier conversation')
    await second.close()
  })

  it('a folder that does not exist is named in the error', async () => {
    const session = await claudeSession({ url: endpoint.url, cwd: '/nowhere/at/all' })
    await session.say('say hello')
    await session.until('turn_ended')
    expect((await session.of('error'))[0]!.message).toContain('/nowhere/at/all')
    await session.close()
  })

  it('a missing program or package is reported in one line', async () => {
    const session = await claudeSession({ url: endpoint.url })
    expect(await session.host.agents()).toEqual([
      { id: 'claude', name: 'Claude', available: true, uses: 'the Claude Code that comes with its SDK' },
    ])
    await session.close()
    const env = claudeEnv(endpoint.url, session.home)
    const noProgram = claudeAgent({ env, executable: '/nowhere/claude', sdk: () => Promise.resolve(sdk) })
    expect(await noProgram.check()).toEqual({
      available: false,
      reason: 'There is no Claude Code to run at /nowhere/claude.',
    })
    const byCommand = claudeAgent({ env, executable: 'sh', sdk: () => Promise.resolve(sdk) })
    expect(JSON.stringify(await byCommand.check())).toMatch(/"available":true,"uses":"\/.*\/sh"/)
    // The SDK is not installed in the workspace itself.
    const noPackage = await claudeAgent({ env }).check()
    expect(JSON.stringify(noPackage)).toMatch(/Claude needs its SDK. Run .npm install -g/)
  })
})
