import { writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { codexAgent, codexExecAgent } from '@askback/agents/codex'
import { sqliteStore } from '@askback/store-sqlite'
import { me, sayHello } from './agent-session.js'
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
  type CodexSessionOptions,
} from './codex-session.js'
import { eventually } from './eventually.js'
import { removeStored } from './folders.js'
import { killedGateways, type KilledGateways } from './killed-gateway.js'
import { isAlive, programsOf } from './processes.js'

let gateways: KilledGateways
let endpoint: CodexEndpoint
beforeAll(async () => {
  gateways = await killedGateways()
  endpoint = await startCodexEndpoint(
    { when: 'say hello', steps: [{ say: [{ text: 'Hello again.' }] }] },
    { when: 'sleep long', steps: runForever() },
  )
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(async () => {
  await gateways.close()
  await endpoint.close()
})

type Session = Awaited<ReturnType<typeof codexSession>>

const startSession = (options: Partial<CodexSessionOptions> = {}) =>
  codexSession({ url: endpoint.url, by: codexExecAgent, ...options })

/** The error events without the notice that this agent decides alone. */
const errorsOf = async (session: Session) =>
  (await session.of('error')).filter(({ code }) => code !== 'agent_decides')

const waitUntilStarted = (session: { cwd: string }) =>
  eventually(() => expect(existsSync(join(session.cwd, 'started'))).toBe(true))

const waitUntilEnded = (home: string) => eventually(() => expect(programsOf(home)).toEqual([]))

describe.concurrent('codex exec', () => {
  it('answers, reports its usage, and continues its thread', async () => {
    const session = await startSession()
    await sayHello(session, 1)
    const when = 'what did I say'
    endpoint.add({ when, steps: [{ say: [{ text: 'You said hello.' }] }] })
    await session.say(when)
    await session.until('turn_ended', 2)
    expect(JSON.stringify(endpoint.of(when))).toContain('say hello')
    expect((await session.of('turn_ended'))[0]!.usage).toMatchObject({ inputTokens: 10, outputTokens: 5 })
    expect(await session.of('agent_session')).toHaveLength(1)
    await session.close()
    await waitUntilEnded(session.home)
  })

  it('is reported as deciding alone, once in a session', async () => {
    const session = await startSession()
    await sayHello(session, 1)
    await sayHello(session, 2)
    const message =
      'Codex CLI decides by itself: it asks nobody before it runs commands or edits files. Only its sandbox limits it.'
    expect(await session.of('error')).toMatchObject([{ code: 'agent_decides', message, fatal: false }])
    await session.close()
  })

  it('logs the id of its thread before anything else of the turn, so that a crash cannot lose it', async () => {
    const session = await startSession()
    await session.say('sleep long')
    await session.until('agent_session')
    const types = (await session.events()).map(({ type }) => type)
    const at = types.indexOf('turn_started')
    expect(types.slice(at + 1).filter((type) => type !== 'session_status')[0]).toBe('agent_session')
    await session.close()
    await waitUntilEnded(session.home)
  })

  it('is interrupted, with its shells, and accepts the next message', async () => {
    const session = await startSession()
    await session.say('sleep long')
    await waitUntilStarted(session)
    const pids = programsOf(session.home)
    await session.host.as(me).interrupt(session.sessionId)
    expect(await session.of('turn_ended')).toMatchObject([{ reason: 'interrupted' }])
    await eventually(() => expect(pids.filter(isAlive)).toEqual([]))
    await sayHello(session, 2)
    await session.close()
  })

  it('queues messages that arrive in the middle of a turn, and answers them in the same turn', async () => {
    const when = 'take your time'
    endpoint.add(
      {
        when,
        steps: [
          { say: [run('touch started; until test -e go; do sleep 0.1; done')] },
          { say: [{ text: 'One.' }] },
        ],
      },
      { when: 'and this', steps: [{ say: [{ text: 'Two.' }] }] },
    )
    const session = await startSession()
    await session.say(when)
    await waitUntilStarted(session)
    await session.say('and this')
    await writeFile(join(session.cwd, 'go'), '')
    await session.until('turn_ended')
    expect((await session.of('text')).map(({ text }) => text)).toEqual(['One.', 'Two.'])
    await session.close()
  })

  it('[L10] continues its thread after a restart, which ends the interrupted turn', async () => {
    const first = await startSession()
    await first.say('sleep long')
    await waitUntilStarted(first)
    await first.close()
    await waitUntilEnded(first.home)
    const second = await startSession({ before: first })
    expect(await second.of('turn_ended')).toMatchObject([{ reason: 'error', cause: 'agent_lost' }])
    const when = 'what was that'
    endpoint.add({ when, steps: [{ say: [{ text: 'A long sleep.' }] }] })
    await second.say(when)
    await second.until('turn_ended', 2)
    expect(JSON.stringify(endpoint.of(when))).toContain('sleep long')
    expect(await second.of('agent_session')).toHaveLength(1)
    await second.close()
  })

  it('ends with its killed gateway, and the next one continues its thread', async () => {
    const home = await codexHome(endpoint.url)
    const text = 'sleep long'
    const options = { executable: codex }
    const moment = { agent: 'codex-exec', mode: 'default', type: 'tool_call', text, options } as const
    const killed = await gateways.until(moment, codexEnv(home))
    await waitUntilStarted(killed)
    await killed.kill()
    await eventually(() => expect(programsOf(home, 'codex')).toEqual([]))
    const store = sqliteStore({ path: killed.db })
    const { sessionId, cwd } = killed
    const session = await startSession({ before: { store, sessionId, home, cwd } })
    expect(await session.of('turn_ended')).toMatchObject([{ reason: 'error', cause: 'agent_lost' }])
    await sayHello(session, 2)
    await session.close()
    await store.close()
    await waitUntilEnded(home)
  })
})

describe.concurrent('a failure of codex exec', () => {
  it.each([
    ['codex exec', codexExecAgent],
    ['codex app-server', codexAgent],
  ])(
    'a refused credential of %s is reported with what to do, and the session continues',
    async (name, by) => {
      const when = `who am I, ${name}`
      const message = 'Incorrect API key provided'
      endpoint.add({ when, steps: [{ status: 401, type: 'invalid_request_error', message }] })
      const session = await startSession({ by })
      await session.say(when)
      expect(await session.until('turn_ended')).toMatchObject([{ reason: 'error' }])
      const [error] = await errorsOf(session)
      expect(error).toMatchObject({ code: 'agent_error', fatal: false })
      expect(error!.message).toMatch(/^Codex was refused by its model: log in with codex login, .*401/)
      expect(error!.message).toContain(message)
      await sayHello(session, 2)
      await session.close()
    },
  )

  it.each([
    ['codex exec', codexExecAgent],
    ['codex app-server', codexAgent],
  ])('a model that %s cannot reach is reported once, while it retries', async (_, by) => {
    const session = await startSession({ url: 'http://127.0.0.1:9', by })
    await session.say('say hello')
    await eventually(async () => expect(await errorsOf(session)).toHaveLength(1))
    const [error] = await errorsOf(session)
    expect(error).toMatchObject({ code: 'agent_retries', fatal: false })
    expect(error!.message).toContain('Reconnecting')
    await session.host.as(me).interrupt(session.sessionId)
    expect(await session.of('turn_ended')).toMatchObject([{ reason: 'interrupted' }])
    await session.close()
  })

  it('a stream that ends in the middle is an error, and the session continues', async () => {
    const when = 'cut me off'
    endpoint.add({ when, steps: [{ say: [{ text: 'This is the beginning of a story' }], ends: 'cut' }] })
    const session = await startSession()
    await session.say(when)
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'error' }])
    expect(await errorsOf(session)).toMatchObject([{ code: 'agent_error' }])
    await sayHello(session, 2)
    await session.close()
  })

  it('a killed program is lost, its shells are killed, and the next message starts it again', async () => {
    const session = await startSession()
    await session.say('sleep long')
    await waitUntilStarted(session)
    const pids = programsOf(session.home)
    const [killed] = programsOf(session.home, 'codex')
    process.kill(killed!, 'SIGKILL')
    await session.until('turn_ended')
    expect(await errorsOf(session)).toMatchObject([{ code: 'agent_lost', fatal: false }])
    await eventually(() => expect(pids.filter(isAlive)).toEqual([]))
    await sayHello(session, 2)
    await session.close()
  })

  it('an exit with an error is reported with the program’s error output', async () => {
    const executable = await fakeCodex('echo "error: the disk is full" >&2; exit 3')
    const session = await startSession({ agent: { executable } })
    await session.say('say hello')
    await session.until('turn_ended')
    expect((await session.of('error'))[0]!.message).toBe('Codex ended: error: the disk is full')
    await session.close()
  })

  it('an exit without error output is reported with its code', async () => {
    const executable = await fakeCodex('exit 7')
    const session = await startSession({ agent: { executable } })
    await session.say('say hello')
    await session.until('turn_ended')
    expect((await session.of('error'))[0]!.message).toBe('Codex ended with the exit code 7.')
    await session.close()
  })

  it('output that is no event is ignored', async () => {
    const noise = `echo 'Hello, I am noise'; echo '{"type":'; echo '[1,2]'; echo 'null'; echo '{"type":"new.thing"}'; printf '\\377\\n'`
    const executable = await fakeCodex(`${noise}; exec "${codex}" "$@"`)
    const session = await startSession({ agent: { executable } })
    await sayHello(session, 1)
    expect((await session.of('text')).map(({ text }) => text)).toEqual(['Hello again.'])
    expect(await errorsOf(session)).toEqual([])
    await session.close()
  })

  it('a thread that Codex has lost starts over with the message', async () => {
    const first = await startSession()
    await sayHello(first, 1)
    await first.close()
    await removeStored(first.home, '.codex/sessions')
    const second = await startSession({ before: first })
    await sayHello(second, 2)
    expect((await errorsOf(second))[0]!.message).toContain('lost the earlier conversation')
    expect(await second.of('agent_session')).toHaveLength(2)
    await second.close()
  })

  it('a missing program is reported in one line, with what to do', async () => {
    const adapter = codexExecAgent({ env: codexEnv('/nowhere'), executable: '/nowhere/codex' })
    await expectMissingReported(adapter)
  })
})
