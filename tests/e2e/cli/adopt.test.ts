import type { Interaction, Session, SessionEvent } from '@askback/protocol'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { newFolder } from '../http/command.js'
import { portToKeep, run, serve, type RunningGateway } from '../http/gateways.js'
import { answered, databases, end, interactionOf, outcome, picks, sharedGateway, waitsFor } from './asking.js'
import { logOf, longTranscript, transcript, type Agent } from './transcripts.js'

const shared = sharedGateway()
const adopt = (gateway: RunningGateway, file: string, ...more: string[]) => [
  'adopt',
  file,
  '--data',
  gateway.data,
  ...more,
]

interface Adopted {
  session: Session
  created: boolean
}

/** For each interaction its tool call and its settlement. */
function shown(events: SessionEvent[]): object[] {
  return events.flatMap((event) =>
    event.type === 'interaction_response'
      ? [{ toolCallId: event.toolCallId, settlement: event.settlement, copyOf: event.copyOf }]
      : [],
  )
}

async function auditOf(gateway: RunningGateway, interactionId: string): Promise<number> {
  const { stdout } = await outcome(['audit', '--data', gateway.data])
  return stdout.split('\n').filter((line) => line.includes(interactionId)).length
}

it.each<[Agent, string, Record<string, string>]>([
  ['claude', 'by its command', {}],
  ['codex', 'by the id that Codex gives its shells', { CODEX_TOOL_CALL_ID: 'call_7', CODEX_THREAD_ID: 'x' }],
])('adopts a session of %s, with what a script asked in it, %s', async (agent, _, env) => {
  const gateway = shared()
  const cwd = newFolder()
  const ask = run(['ask', 'Which database?', ...databases, '--data', gateway.data], env, { cwd })
  const asked = await waitsFor(ask)
  await answered(gateway, ask, picks('SQLite'))
  const broken = ['{"type":', 'not JSON at all', '{"type":"assistant","sess']
  const { file, id } = transcript(agent, { cwd, callId: 'call_7', more: broken })

  const { code, stdout, stderr } = await outcome(adopt(gateway, file))
  const sessionId = `${agent}.${id}`
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${sessionId}\n` })
  expect(stderr).toBe(
    `2 lines of ${file} could not be read.\n` +
      `Took over a session of ${agent === 'claude' ? 'Claude Code' : 'Codex'} with 1 message and 1 tool call.\n` +
      `Go on with it at ${gateway.ready.url}, or with: askback send ${sessionId} "…"\n`,
  )
  const events = await logOf(gateway, sessionId)
  expect(events.filter(({ type }) => !type.startsWith('interaction_')).map(({ type }) => type)).toEqual([
    'session_started',
    'user_message',
    'tool_call',
    'tool_result',
    'text',
    'turn_ended',
    'agent_session',
  ])
  expect(shown(events)).toEqual([{ toolCallId: 'call_7', settlement: 'answered', copyOf: asked }])
  expect(await auditOf(gateway, asked)).toBe(1)

  const again = await outcome(adopt(gateway, file, '--json'))
  expect(JSON.parse(again.stdout)).toMatchObject({ created: false, session: { id: sessionId, cwd, agent } })
  expect(again.stderr).toContain('It is here already; nothing was changed.')
  expect(await logOf(gateway, sessionId)).toEqual(events)
})

it('finds a session by its id in the folder of its agent', async () => {
  const gateway = shared()
  const home = newFolder()
  for (const agent of ['claude', 'codex'] as const) {
    const { id } = transcript(agent, { cwd: '/work', callId: 'c', home })
    expect(await outcome(adopt(gateway, id), { HOME: home })).toMatchObject({
      code: 0,
      stdout: `${agent}.${id}\n`,
    })
  }
})

it('a pending interaction is answered once, where it was asked, and then shown', async () => {
  const gateway = shared()
  const cwd = newFolder()
  const ask = run(['ask', 'Which database?', ...databases, '--data', gateway.data], {}, { cwd })
  const asked = await waitsFor(ask)
  const { sessionId: from } = await interactionOf(gateway, asked)
  const { file, id } = transcript('claude', { cwd, callId: 'call_8' })
  const sessionId = `claude.${id}`
  expect(await outcome(adopt(gateway, file, '--from', from))).toMatchObject({ code: 0 })
  expect(shown(await logOf(gateway, sessionId))).toEqual([])
  const { body } = await gateway.call<{ interactions: Interaction[] }>('GET', '/api/interactions')
  expect(body.interactions.filter((item) => item.toolName.includes('ask'))).toHaveLength(1)
  expect(await answered(gateway, ask, picks('Postgres'))).toMatchObject({ code: 0, stdout: 'Postgres\n' })
  await expect
    .poll(async () => shown(await logOf(gateway, sessionId)))
    .toEqual([{ toolCallId: 'call_8', settlement: 'answered', copyOf: asked }])
  expect(await auditOf(gateway, asked)).toBe(1)
})

/** Checks that a log has every call of that history once and in order, and its end. */
function expectWhole(events: SessionEvent[], { id, calls }: { id: string; calls: number }): void {
  const ids = (type: 'tool_call' | 'tool_result') =>
    events.flatMap((event) => (event.type === type ? [event.toolCallId] : []))
  const expected = Array.from({ length: calls }, (_, index) => `toolu_${index}`)
  expect(ids('tool_call')).toEqual(expected)
  expect(ids('tool_result')).toEqual(expected)
  expect(events.filter(({ type }) => type === 'turn_ended')).toHaveLength(1)
  expect(events.at(-1)).toMatchObject({ type: 'agent_session', agentSessionId: id })
}

it('adopts 30 MB, even if the gateway is killed meanwhile', async () => {
  const port = await portToKeep()
  const gateway = await serve({ port })
  const history = await longTranscript(30, newFolder())
  const sessionId = `claude.${history.id}`
  const command = run(adopt(gateway, history.file))
  const begun = async () => (await gateway.call('GET', `/api/sessions/${sessionId}`)).status
  await expect.poll(begun, { interval: 5 }).toBe(200)
  await gateway.stop('SIGKILL')
  const next = await serve({ data: gateway.data, port })
  expect(await end(command)).toMatchObject({ code: 0, stdout: `${sessionId}\n` })
  expectWhole(await logOf(next, sessionId), history)
})

it('a session that several commands adopt at the same time exists once', async () => {
  const gateway = shared()
  const history = await longTranscript(3, newFolder())
  const ended = await Promise.all([0, 1, 2].map(() => outcome(adopt(gateway, history.file, '--json'))))
  const created = ended.map(({ stdout }) => (JSON.parse(stdout) as Adopted).created)
  expect(created.filter(Boolean)).toHaveLength(1)
  expectWhole(await logOf(gateway, `claude.${history.id}`), history)
})

it('prints JSON without control characters', async () => {
  const gateway = shared()
  const { file } = transcript('claude', { cwd: '/work\u009b31m\u202e', callId: 'c' })
  const { stdout } = await outcome(adopt(gateway, file, '--json'))
  expect(JSON.parse(stdout)).toMatchObject({ session: { cwd: '/work\u009b31m\u202e' } })
  expect(stdout).not.toMatch(/[\u009b\u202e]/)
})

it.each<[string, () => string[], string | RegExp]>([
  ['nothing', () => [], 'Usage: askback adopt FILE, or the id of a session. See askback --help.'],
  ['two files', () => ['a', 'b'], 'Usage: askback adopt FILE, or the id of a session. See askback --help.'],
  ['no file', () => ['/nowhere/x.jsonl'], 'There is no file /nowhere/x.jsonl.'],
  [
    'an id of nothing',
    () => ['0199aaaa-ffff'],
    'There is no file 0199aaaa-ffff, and Claude Code and Codex have no session with that id here. Give the path of a transcript, or the id of a session.',
  ],
  ['a folder', () => ['/'], '/ is a folder: name the file of a session in it, or the session’s id.'],
  ['an empty file', () => [written('')], /^\S+ is empty\.$/],
  [
    'a file of something else',
    () => [written('hello\n{"a":1}\n')],
    /^\S+ is neither a transcript of Claude Code nor a rollout of Codex\.$/,
  ],
  [
    'a session that is not there',
    () => [transcript('claude', { cwd: '/work', callId: 'c' }).file, '--from', 'nowhere'],
    'There is no session nowhere. askback sessions lists them.',
  ],
])('says in one sentence what is wrong with %s', async (what, args, sentence) => {
  const { code, stdout, stderr } = await outcome(['adopt', ...args(), '--data', shared().data])
  expect({ code, stdout }).toEqual({ code: what === 'a session that is not there' ? 1 : 2, stdout: '' })
  if (typeof sentence === 'string') expect(stderr).toBe(`${sentence}\n`)
  else expect(stderr.trim()).toMatch(sentence)
})

it('says who may adopt, and that no gateway runs', async () => {
  const { file } = transcript('codex', { cwd: '/work', callId: 'c' })
  const { ready } = shared()
  const asAgent = { ASKBACK_URL: ready.url, ASKBACK_AGENT_TOKEN: ready.agentToken, HOME: newFolder() }
  expect(await outcome(['adopt', file], asAgent)).toEqual({
    code: 7,
    stdout: '',
    stderr: 'Only a person may do this.\n',
  })
  const wrong = { ASKBACK_URL: ready.url, ASKBACK_TOKEN: 'wrong' }
  expect(await outcome(['adopt', file], wrong)).toMatchObject({ code: 7, stdout: '' })
  const nobody = newFolder()
  expect(await outcome(['adopt', file, '--data', nobody])).toEqual({
    code: 6,
    stdout: '',
    stderr: `No gateway runs on ${nobody}. Start one with askback serve.\n`,
  })
})

it('says that a file of another user cannot be read', async () => {
  const { file } = transcript('codex', { cwd: '/work', callId: 'c' })
  chmodSync(file, 0)
  // Root may read anything.
  const other = process.getuid?.() === 0 ? { uid: 65_534 } : {}
  const command = run(['adopt', file], {}, { cwd: '/', ...other })
  expect(await end(command)).toEqual({ code: 2, stdout: '', stderr: `You may not read ${file}.\n` })
})

function written(text: string): string {
  const file = join(newFolder(), 'x.jsonl')
  writeFileSync(file, text)
  return file
}
