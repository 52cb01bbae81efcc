import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { codexAgent } from '@askback/agents/codex'
import { agentSession, me } from './agent-session.js'
import { startCodexEndpoint, type CodexEndpoint } from './codex-endpoint.js'
import {
  codex,
  codexEnv,
  codexHome,
  codexSession,
  expectMissingToBeSaid,
  inPlaceOfCodex,
  run,
  runForever,
} from './codex-session.js'
import { eventually } from './eventually.js'
import { folderOf, lose } from './folders.js'
import { isAlive, programsOf } from './processes.js'

type Session = Awaited<ReturnType<typeof codexSession>>

let endpoint: CodexEndpoint
beforeAll(async () => {
  endpoint = await startCodexEndpoint(
    { when: 'say hello', steps: [{ say: [{ text: 'Hello again.' }] }] },
    { when: 'You were stopped', steps: [{ told: ['may have run'], say: [{ text: 'I will look.' }] }] },
    { when: 'sleep long', steps: runForever() },
  )
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

async function hello(session: Session, turns: number): Promise<void> {
  await session.say('say hello')
  expect((await session.until('turn_ended', turns)).at(-1)).toMatchObject({ reason: 'done' })
}

/** The program, and the shell that it runs. */
async function shellsOf({ home, told }: Session): Promise<number[]> {
  await eventually(async () => {
    if (programsOf(home, 'tail').length === 0) throw new Error(`No shell runs. The log ends: ${await told()}`)
  })
  return programsOf(home)
}

describe.concurrent('a session', () => {
  it('keeps one process between turns, and counts what a turn took', async () => {
    const session = await codexSession({ url: endpoint.url })
    await hello(session, 1)
    const first = programsOf(session.home, 'codex')
    expect(first).not.toEqual([])
    await hello(session, 2)
    expect(programsOf(session.home, 'codex')).toEqual(first)
    expect((await session.of('turn_ended'))[1]!.usage).toMatchObject({ inputTokens: 10, outputTokens: 5 })
    expect(await session.of('agent_session')).toHaveLength(1)
    await session.close()
    await eventually(() => expect(programsOf(session.home)).toEqual([]))
  })

  it('begins together with others in a home that none has used yet', async () => {
    const adapter = codexAgent({ env: codexEnv(await codexHome(endpoint.url)), executable: codex })
    const cwd = await folderOf('work')
    const sessions = await Promise.all([1, 2, 3, 4].map(() => agentSession({ adapter, cwd })))
    await Promise.all(sessions.map((session) => session.say('say hello')))
    for (const session of sessions) {
      expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
      await session.close()
    }
  })

  it('begins once more where another Codex was in the way', async () => {
    const fails = 'echo "Error: failed to initialize sqlite state runtime" >&2; exit 1'
    const executable = await inPlaceOfCodex(`mkdir "$HOME/tried" && { ${fails}; }\nexec "${codex}" "$@"`)
    const session = await codexSession({ url: endpoint.url, agent: { executable } })
    await hello(session, 1)
    expect(await session.of('error')).toEqual([])
    await session.close()
  })

  it.each([true, false])(
    'that hangs while it starts can be stopped, if it is to be kept: %s',
    async (keeps) => {
      const executable = await inPlaceOfCodex('exec tail -f /dev/null')
      const keepIn = keeps ? { keepIn: await folderOf('kept') } : {}
      const session = await codexSession({ url: endpoint.url, agent: { executable, ...keepIn } })
      const { home } = session
      await session.say('say hello')
      await eventually(() => expect(programsOf(home, 'tail')).toHaveLength(1))
      await session.host.interrupt(session.sessionId, me)
      expect(await session.of('turn_ended')).toMatchObject([{ reason: 'interrupted' }])
      expect(await session.of('error')).toEqual([])
      expect(programsOf(home)).toEqual([])
      await session.say('say hello')
      await eventually(() => expect(programsOf(home, 'tail')).toHaveLength(1))
      await session.close()
      expect(programsOf(home)).toEqual([])
    },
  )

  it('is interrupted without one more request to the model', async () => {
    const when = 'interrupt me'
    endpoint.add({ when, steps: [{ say: [run('touch never')] }] })
    const session = await codexSession({ url: endpoint.url })
    await session.say(when)
    await session.pending()
    await session.host.interrupt(session.sessionId, me)
    expect((await session.of('turn_ended'))[0]).toMatchObject({ reason: 'interrupted' })
    await hello(session, 2)
    expect(endpoint.of(when)).toHaveLength(1)
    await session.close()
  })

  it('takes a message in the middle of a turn', async () => {
    const when = 'start with this'
    endpoint.add({
      when,
      steps: [{ say: [run('touch first')] }, { told: ['and then this'], say: [{ text: 'This and that.' }] }],
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

  it('leaves no process behind, shells of the agent included', async () => {
    const session = await codexSession({ url: endpoint.url, mode: 'bypassPermissions' })
    await session.say('sleep long')
    const pids = await shellsOf(session)
    await session.host.deleteSession(session.sessionId, me)
    await eventually(() => expect(pids.filter(isAlive)).toEqual([]))
    await session.host.close()
  })

  it('[L10] goes on with a thread that another process of Codex had', async () => {
    const first = await codexSession({ url: endpoint.url })
    await hello(first, 1)
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
  it('an error of the endpoint is an error event, and the session goes on', async () => {
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
    await hello(session, 2)
    await session.close()
  })

  it('a stream that ends in the middle leaves a session that goes on', async () => {
    const when = 'cut me off'
    endpoint.add({ when, steps: [{ say: [{ text: 'This is the beginning of a story' }], ends: 'cut' }] })
    const session = await codexSession({ url: endpoint.url })
    await session.say(when)
    await session.until('turn_ended')
    expect((await session.of('turn_ended'))[0]).toMatchObject({ reason: 'error' })
    await hello(session, 2)
    await session.close()
  })

  it('an endpoint that hangs is interrupted', async () => {
    const when = 'hang on'
    endpoint.add({ when, steps: [{ say: [{ text: 'Half of' }], ends: 'never' }] })
    const session = await codexSession({ url: endpoint.url })
    await session.say(when)
    await eventually(() => expect(endpoint.of(when)).toHaveLength(1))
    await session.host.interrupt(session.sessionId, me)
    expect((await session.of('turn_ended'))[0]).toMatchObject({ reason: 'interrupted' })
    await hello(session, 2)
    await session.close()
  })

  it('a program that is killed is lost, with its shells, and started again by the next message', async () => {
    const session = await codexSession({ url: endpoint.url, mode: 'bypassPermissions' })
    await session.say('sleep long')
    const pids = await shellsOf(session)
    const [program] = programsOf(session.home, 'codex')
    process.kill(program!, 'SIGKILL')
    await session.until('turn_ended')
    expect((await session.of('error'))[0]).toMatchObject({ code: 'agent_lost', fatal: false })
    await eventually(() => expect(pids.filter(isAlive)).toEqual([]))
    await hello(session, 2)
    await session.close()
  })

  it('a program that is killed while it asks leaves the card, and goes on with the answer', async () => {
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

  it('[L10] a program that is killed while it asks for an approval gets it for one call with the same input', async () => {
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

  it('a conversation that the program has lost starts over with the message', async () => {
    const first = await codexSession({ url: endpoint.url })
    await hello(first, 1)
    await first.close()
    await lose(first.home, '.codex/sessions')
    const second = await codexSession({ url: endpoint.url, before: first })
    await hello(second, 2)
    expect((await second.of('error'))[0]!.message).toContain('lost the earlier conversation')
    await second.close()
  })

  it('a folder that does not exist is said by name', async () => {
    const session = await codexSession({ url: endpoint.url, cwd: '/nowhere/at/all' })
    await session.say('say hello')
    await session.until('turn_ended')
    expect((await session.of('error'))[0]!.message).toContain('/nowhere/at/all')
    await session.close()
  })

  it('a program that is not installed is said in one line, with what to do', async () => {
    const adapter = codexAgent({ env: codexEnv('/nowhere'), executable: '/nowhere/codex' })
    await expectMissingToBeSaid(adapter)
  })
})
