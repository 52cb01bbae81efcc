import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { codexAgent } from '@askback/agents/codex'
import { agentSession, me, sayHello } from './agent-session.js'
import { startCodexEndpoint, type CodexEndpoint } from './codex-endpoint.js'
import {
  codex,
  codexEnv,
  codexHome,
  codexSession,
  expectMissingReported,
  fakeCodex,
  run,
  runForever,
} from './codex-session.js'
import { eventually } from './eventually.js'
import { folderOf, removeStored } from './folders.js'
import { isAlive, programsOf } from './processes.js'

type Session = Awaited<ReturnType<typeof codexSession>>

let endpoint: CodexEndpoint
beforeAll(async () => {
  endpoint = await startCodexEndpoint(
    { when: 'say hello', steps: [{ say: [{ text: 'Hello again.' }] }] },
    { when: 'You were stopped', steps: [{ expects: ['may have run'], say: [{ text: 'I will look.' }] }] },
    { when: 'sleep long', steps: runForever() },
  )
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

/** All processes of the agent, once the shell of its command runs. */
async function processesWithShell({ home, lastEvents }: Session): Promise<number[]> {
  await eventually(async () => {
    if (programsOf(home, 'tail').length === 0)
      throw new Error(`No shell runs. The log ends: ${await lastEvents()}`)
  })
  return programsOf(home)
}

describe.concurrent('a session', () => {
  it('has one process over several turns, and reports the usage of each', async () => {
    const session = await codexSession({ url: endpoint.url })
    await sayHello(session, 1)
    // The program comes before the short-lived helpers that it starts.
    const [first] = programsOf(session.home, 'codex')
    expect(first).toBeDefined()
    await sayHello(session, 2)
    expect(programsOf(session.home, 'codex')[0]).toBe(first)
    expect((await session.of('turn_ended'))[1]!.usage).toMatchObject({ inputTokens: 10, outputTokens: 5 })
    expect(await session.of('agent_session')).toHaveLength(1)
    await session.close()
    await eventually(() => expect(programsOf(session.home)).toEqual([]))
  })

  it('starts together with others in an unused home', async () => {
    const adapter = codexAgent({ env: codexEnv(await codexHome(endpoint.url)), executable: codex })
    const cwd = await folderOf('work')
    const sessions = await Promise.all([1, 2, 3, 4].map(() => agentSession({ adapter, cwd })))
    await Promise.all(sessions.map((session) => session.say('say hello')))
    for (const session of sessions) {
      expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
      await session.close()
    }
  })

  it('starts again if another Codex made it fail', async () => {
    const fails = 'echo "Error: failed to initialize sqlite state runtime" >&2; exit 1'
    const executable = await fakeCodex(`mkdir "$HOME/tried" && { ${fails}; }\nexec "${codex}" "$@"`)
    const session = await codexSession({ url: endpoint.url, agent: { executable } })
    await sayHello(session, 1)
    expect(await session.of('error')).toEqual([])
    await session.close()
  })

  it.each([true, false])('that hangs while it starts can be stopped (detached: %s)', async (isDetached) => {
    const executable = await fakeCodex('exec tail -f /dev/null')
    const detachedFolder = isDetached ? { detachedFolder: await folderOf('running') } : {}
    const session = await codexSession({ url: endpoint.url, agent: { executable, ...detachedFolder } })
    const { home } = session
    await session.say('say hello')
    await eventually(() => expect(programsOf(home, 'tail')).toHaveLength(1))
    await session.host.as(me).interrupt(session.sessionId)
    expect(await session.of('turn_ended')).toMatchObject([{ reason: 'interrupted' }])
    expect(await session.of('error')).toEqual([])
    await eventually(() => expect(programsOf(home)).toEqual([]))
    await session.say('say hello')
    await eventually(() => expect(programsOf(home, 'tail')).toHaveLength(1))
    await session.close()
    await eventually(() => expect(programsOf(home)).toEqual([]))
  })

  it('is interrupted without one more request to the model', async () => {
    const when = 'interrupt me'
    endpoint.add({ when, steps: [{ say: [run('touch never')] }] })
    const session = await codexSession({ url: endpoint.url })
    await session.say(when)
    await session.pending()
    await session.host.as(me).interrupt(session.sessionId)
    expect((await session.of('turn_ended'))[0]).toMatchObject({ reason: 'interrupted' })
    await sayHello(session, 2)
    expect(endpoint.of(when)).toHaveLength(1)
    await session.close()
  })

  it('accepts a message in the middle of a turn', async () => {
    const when = 'start with this'
    endpoint.add({
      when,
      steps: [
        { say: [run('touch first')] },
        { expects: ['and then this'], say: [{ text: 'This and that.' }] },
      ],
    })
    const session = await codexSession({ url: endpoint.url })
    await session.say(when)
    const [item] = await session.pending()
    await session.say('and then this')
    await session.answer(item!, { decision: 'approve' })
    await session.until('turn_ended')
    expect((await session.of('text')).map(({ text }) => text)).toEqual(['This and that.'])
    await session.close()
  })

  it('leaves no process running, shells of the agent included', async () => {
    const session = await codexSession({ url: endpoint.url, mode: 'bypassPermissions' })
    await session.say('sleep long')
    const pids = await processesWithShell(session)
    await session.host.as(me).deleteSession(session.sessionId)
    await eventually(() => expect(pids.filter(isAlive)).toEqual([]))
    await session.host.close()
  })

  it('[L10] continues a thread of another process of Codex', async () => {
    const first = await codexSession({ url: endpoint.url })
    await sayHello(first, 1)
    await first.close()
    const when = 'what did I say'
    endpoint.add({ when, steps: [{ say: [{ text: 'You said hello.' }] }] })
    const second = await codexSession({ url: endpoint.url, before: first })
    await second.say(when)
    await second.until('turn_ended', 2)
    expect(JSON.stringify(endpoint.of(when))).toContain('say hello')
    await second.close()
  })
})

describe.concurrent('a failure', () => {
  it('an error of the endpoint is an error event, and the session continues', async () => {
    const when = 'make it fail'
    endpoint.add({
      when,
      steps: [{ status: 400, type: 'invalid_request_error', message: 'too much of it' }],
    })
    const session = await codexSession({ url: endpoint.url })
    await session.say(when)
    await session.until('turn_ended')
    expect((await session.of('error'))[0]!.message).toContain('too much of it')
    expect((await session.of('turn_ended'))[0]).toMatchObject({ reason: 'error' })
    await sayHello(session, 2)
    await session.close()
  })

  it('a stream that ends in the middle is an error, and the session continues', async () => {
    const when = 'cut me off'
    endpoint.add({ when, steps: [{ say: [{ text: 'This is the beginning of a story' }], ends: 'cut' }] })
    const session = await codexSession({ url: endpoint.url })
    await session.say(when)
    await session.until('turn_ended')
    expect((await session.of('turn_ended'))[0]).toMatchObject({ reason: 'error' })
    await sayHello(session, 2)
    await session.close()
  })

  it('an endpoint that hangs can be interrupted', async () => {
    const when = 'hang on'
    endpoint.add({ when, steps: [{ say: [{ text: 'Half of' }], ends: 'never' }] })
    const session = await codexSession({ url: endpoint.url })
    await session.say(when)
    await eventually(() => expect(endpoint.of(when)).toHaveLength(1))
    await session.host.as(me).interrupt(session.sessionId)
    expect((await session.of('turn_ended'))[0]).toMatchObject({ reason: 'interrupted' })
    await sayHello(session, 2)
    await session.close()
  })

  it('a killed program is lost, its shells are killed, and the next message starts it again', async () => {
    const session = await codexSession({ url: endpoint.url, mode: 'bypassPermissions' })
    await session.say('sleep long')
    const pids = await processesWithShell(session)
    const [program] = programsOf(session.home, 'codex')
    process.kill(program!, 'SIGKILL')
    await session.until('turn_ended')
    expect((await session.of('error'))[0]).toMatchObject({ code: 'agent_lost', fatal: false })
    await eventually(() => expect(pids.filter(isAlive)).toEqual([]))
    await sayHello(session, 2)
    await session.close()
  })

  it('a program that is killed with a pending question leaves the card, and the answer continues the turn', async () => {
    const when = 'ask and die'
    const options = [
      { label: 'Yes', description: 'yes' },
      { label: 'No', description: 'no' },
    ]
    const questions = [{ id: 'q', header: 'Sure', question: 'Are you sure?', options }]
    endpoint.add(
      { when, steps: [{ say: [{ tool: 'request_user_input', input: { questions } }] }] },
      { when: '"Are you sure?" = "Yes"', steps: [{ say: [{ text: 'Good.' }] }] },
    )
    const session = await codexSession({ url: endpoint.url })
    await session.say(when)
    const [item] = await session.pending()
    const [program] = programsOf(session.home, 'codex')
    process.kill(program!, 'SIGKILL')
    await session.until('error')
    expect(await session.pending()).toHaveLength(1)
    await session.answer(item!, { answers: [{ selected: ['Yes'] }] })
    expect((await session.until('turn_ended'))[0]).toMatchObject({ reason: 'done' })
    await session.close()
  })

  it('[L10] a program that is killed with a pending approval may make one call with the same input', async () => {
    const when = 'run it and die'
    const call = run('echo once >> runs')
    endpoint.add(
      { when, steps: [{ say: [call] }] },
      { when: 'echo once >> runs', steps: [{ say: [call] }, { say: [{ text: 'Ran.' }] }] },
    )
    const session = await codexSession({ url: endpoint.url })
    await session.say(when)
    const [item] = await session.pending()
    const [program] = programsOf(session.home, 'codex')
    process.kill(program!, 'SIGKILL')
    await session.until('error')
    await session.answer(item!, { decision: 'approve' })
    expect((await session.until('turn_ended'))[0]).toMatchObject({ reason: 'done' })
    expect(await session.of('interaction_response')).toHaveLength(1)
    expect(await readFile(join(session.cwd, 'runs'), 'utf8')).toBe('once\n')
    await session.close()
  })

  it('a conversation that Codex has lost starts over with the message', async () => {
    const first = await codexSession({ url: endpoint.url })
    await sayHello(first, 1)
    await first.close()
    await removeStored(first.home, '.codex/sessions')
    const second = await codexSession({ url: endpoint.url, before: first })
    await sayHello(second, 2)
    expect((await second.of('error'))[0]!.message).toContain('lost the earlier conversation')
    await second.close()
  })

  it('a folder that does not exist is named in the error', async () => {
    const session = await codexSession({ url: endpoint.url, cwd: '/nowhere/at/all' })
    await session.say('say hello')
    await session.until('turn_ended')
    expect((await session.of('error'))[0]!.message).toContain('/nowhere/at/all')
    await session.close()
  })

  it('a missing program is reported in one line, with what to do', async () => {
    const adapter = codexAgent({ env: codexEnv('/nowhere'), executable: '/nowhere/codex' })
    await expectMissingReported(adapter)
  })
})
