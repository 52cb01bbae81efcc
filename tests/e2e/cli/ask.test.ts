import type { Interaction, Session } from '@askback/protocol'
import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { newFolder } from '../http/command.js'
import { at, run, serve, type RunningGateway } from '../http/gateways.js'
import {
  answered,
  databases,
  end,
  inShell,
  interactionOf,
  outcome,
  picks,
  waitsFor,
  sharedGateway,
} from './asking.js'

const shared = sharedGateway()

it('prints the answer, and nothing else, on stdout', async () => {
  const gateway = shared()
  const command = run(['ask', 'Which database?', ...databases, '--data', gateway.data])
  const { code, stdout, stderr } = await answered(gateway, command, picks('SQLite'))
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'SQLite\n' })
  expect(stderr).toContain(`Waiting for a person: Which database? Answer at ${gateway.ready.url}`)
})

it('prints one line for each selected option, and a free text as it is', async () => {
  const gateway = shared()
  const args = ['ask', 'Which?', '--multi', '--option', 'a, b', '--option', 'c', '--data', gateway.data]
  const answer = { answers: [{ selected: ['a, b', 'c'], other: 'mine' }] }
  expect(await answered(gateway, run(args), answer)).toMatchObject({ code: 0, stdout: 'a, b\nc\nmine\n' })
})

it('prints the whole interaction with --json', async () => {
  const gateway = shared()
  const command = run(['ask', 'Which?', ...databases, '--header', 'DB', '--json', '--data', gateway.data])
  const { code, stdout } = await answered(gateway, command, picks('SQLite'))
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    kind: 'question',
    request: { questions: [{ header: 'DB', question: 'Which?', multiSelect: false }] },
    settlement: 'answered',
    answer: picks('SQLite'),
    by: expect.anything() as unknown,
    via: 'http',
  })
})

it('exits with 5 when nobody answers in time, or with the default if there is one', async () => {
  const { data } = shared()
  const args = ['ask', 'Which?', ...databases, '--timeout', '300ms', '--data', data]
  expect(await outcome(args)).toMatchObject({
    code: 5,
    stdout: '',
    stderr: expect.stringMatching(/Nobody answered in time\.\n$/) as unknown,
  })
  expect(await outcome([...args, '--default', 'SQLite'])).toMatchObject({ code: 0, stdout: 'SQLite\n' })
})

it('exits with 4 when a person cancels', async () => {
  const gateway = shared()
  const command = run(['ask', 'Which?', '--data', gateway.data])
  const item = await interactionOf(gateway, await waitsFor(command))
  await gateway.call('DELETE', at(item))
  expect(await end(command)).toMatchObject({ code: 4, stdout: '' })
})

it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('[L10] cancels on %s', async (signal) => {
  const gateway = shared()
  const command = run(['ask', 'Which?', '--data', gateway.data])
  const id = await waitsFor(command)
  expect(await command.kill(signal)).toEqual({ code: 4, signal: null })
  expect(await interactionOf(gateway, id)).toMatchObject({ status: 'settled', settlement: 'cancelled' })
})

it('[L10] cancels even if two signals come at once', async () => {
  const gateway = shared()
  const command = run(['ask', 'Which?', '--data', gateway.data])
  const id = await waitsFor(command)
  const [ended] = await Promise.all([command.kill('SIGINT'), command.kill('SIGTERM')])
  expect(ended).toEqual({ code: 4, signal: null })
  expect(await interactionOf(gateway, id)).toMatchObject({ status: 'settled', settlement: 'cancelled' })
})

it('asks for an approval: 0 when it is given, 3 with the reason when not', async () => {
  const gateway = shared()
  const file = join(newFolder(), 'input.json')
  writeFileSync(file, '{"target":"production"}')
  const args = ['request-approval', '--tool', 'deploy', '--input', `@${file}`, '--data', gateway.data]
  const yes = run(args)
  expect(await interactionOf(gateway, await waitsFor(yes))).toMatchObject({
    kind: 'approval',
    toolName: 'deploy',
    request: { input: { target: 'production' } },
  })
  const approve = { decision: 'approve', scope: 'session' }
  expect(await answered(gateway, yes, approve)).toMatchObject({ code: 0, stdout: '' })
  const other = run([...args.slice(0, 3), '--input', '{"target":"test"}', ...args.slice(5)])
  expect(await answered(gateway, other, { decision: 'deny', message: 'Not today.' })).toMatchObject({
    code: 3,
    stdout: '',
    stderr: expect.stringMatching(/Denied by .+: Not today\.\n$/) as unknown,
  })
  // The rule that was stored with the first answer settles the same request at once.
  expect(await outcome(args)).toEqual({ code: 0, stdout: '', stderr: '' })
})

it('prints an edited input, which is the one that may run', async () => {
  const gateway = shared()
  const command = run(['request-approval', '--tool', 'deploy', '--input', '{"n":1}', '--data', gateway.data])
  const answer = { decision: 'approve', updatedInput: { n: 2 } }
  expect(await answered(gateway, command, answer)).toMatchObject({ code: 0, stdout: '{"n":2}\n' })
})

it('asks for a form from a file or from stdin, and follows it when it is superseded [L6]', async () => {
  const gateway = shared()
  const schema = { fields: [{ name: 'port', type: 'number', required: true, min: 1 }] }
  const command = run(
    ['form', '-', '--message', 'Which port?', '--data', gateway.data],
    {},
    {
      stdin: JSON.stringify(schema),
    },
  )
  const item = await interactionOf(gateway, await waitsFor(command))
  expect(item.request).toEqual({ message: 'Which port?', schema })
  expect(command.stderr).toContain('Waiting for a person: Which port? Answer at')
  const wrong = await gateway.call<{ error: { details: { interaction: Interaction } } }>(
    'POST',
    `${at(item)}/response`,
    { body: { answer: { values: { port: 0 } } } },
  )
  expect(wrong.status).toBe(400)
  const again = wrong.body.error.details.interaction
  await gateway.call('POST', `${at(again)}/response`, { body: { answer: { values: { port: 80 } } } })
  expect(await end(command)).toMatchObject({ code: 0, stdout: '{"port":80}\n' })
})

it('names the call that the environment names, in any script', async () => {
  const gateway = shared()
  const env = inShell(gateway, await gateway.session(), { CODEX_TOOL_CALL_ID: 'call_呼é' })
  const item = await interactionOf(gateway, await waitsFor(run(['ask', 'Which?'], env)))
  expect(item).toMatchObject({ toolCallId: 'call_呼é', anchor: 'exact' })
})

it('says at once which id in the environment is invalid', async () => {
  const gateway = shared()
  const env = inShell(gateway, await gateway.session(), { CODEX_TOOL_CALL_ID: 'call\n7' })
  expect(await outcome(['ask', 'Which?'], env)).toEqual({
    code: 2,
    stdout: '',
    stderr: 'CODEX_TOOL_CALL_ID holds a control character, so it is no id.\n',
  })
})

it('creates a session for the folder if there is none, and finds it again', async () => {
  const gateway = await serve()
  const cwd = join(newFolder(), 'shop')
  mkdirSync(cwd)
  const ask = async () => {
    const command = run(['ask', 'Which?', '--data', gateway.data], {}, { cwd })
    const { sessionId } = await interactionOf(gateway, await waitsFor(command))
    await command.kill('SIGINT')
    return sessionId
  }
  const first = await ask()
  expect(await ask()).toBe(first)
  expect(await listed(gateway)).toMatchObject([{ id: first, agent: null, title: basename(cwd), cwd }])
  await gateway.call('DELETE', `/api/sessions/${first}`)
  const second = await ask()
  expect(second).not.toBe(first)
  expect(await ask()).toBe(second)
})

it('inside a shell of an agent asks in its session, with its token', async () => {
  const gateway = shared()
  const sessionId = await gateway.session()
  const command = run(['ask', 'Which?'], inShell(gateway, sessionId))
  const item = await interactionOf(gateway, await waitsFor(command))
  expect(item).toMatchObject({ sessionId, openedBy: 'agents', anchor: 'own' })
  expect(await answered(gateway, command, { answers: [{ selected: [], other: 'x' }] })).toMatchObject({
    code: 0,
    stdout: 'x\n',
  })
})

async function listed(gateway: RunningGateway): Promise<Session[]> {
  return (await gateway.call<{ sessions: Session[] }>('GET', '/api/sessions')).body.sessions
}
