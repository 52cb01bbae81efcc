import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Session, SessionEvent } from '@askback/protocol'
import { expect, it } from 'vitest'
import { Command, file, newFolder } from '../../e2e/http/command.js'
import { claudePrint, claudeTerminal } from './claude-code-cli.js'
import { answer, cwd, endpoint, gateway, home, pending } from './claude-code-world.js'

const settings = () => join(home, '.claude/settings.json')

async function askback(...args: string[]): Promise<Command> {
  const command = new Command(args, { CLAUDE_CONFIG_DIR: join(home, '.claude') })
  const { code } = await command.ended
  expect(code).toBe(0)
  return command
}

const install = (data = gateway.data) => askback('install', 'claude-code', '--yes', '--data', data)

async function log(sessionId: string): Promise<SessionEvent[]> {
  const response = await fetch(`${gateway.ready.url}/api/sessions/${sessionId}/events`, {
    headers: { authorization: `Bearer ${gateway.ready.token}`, accept: 'application/json' },
  })
  return ((await response.json()) as { events: SessionEvent[] }).events
}

/** Accepts its prompt. It is shown a moment before it reads keys, so Enter is repeated. */
async function acceptPrompt(
  { shown, press }: Awaited<ReturnType<typeof claudeTerminal>>,
  when: string,
): Promise<void> {
  await expect.poll(shown).toContain('Doyouwanttoproceed?')
  const requestCount = () => {
    const count = endpoint.of(when).length
    if (count < 2) press('\r')
    return count
  }
  await expect.poll(requestCount, { interval: 500 }).toBe(2)
}

const touch = { tool: 'Bash', input: { command: 'touch made && echo so be it' } }

it('a manually started Claude Code asks here, at the call that it asks about', async () => {
  await install()
  const steps = [{ say: [touch] }, { expects: ['so be it'], say: [{ text: 'Made.' }] }]
  endpoint.add({ when: 'make it', steps })
  const run = claudePrint('make it', { url: endpoint.url, home, cwd })
  const item = await pending()
  expect(item).toMatchObject({
    kind: 'approval',
    toolName: 'Bash',
    request: { input: touch.input },
    anchor: 'exact',
  })
  await answer(item, { decision: 'approve' })
  expect(await run).toBe('Made.')
  const { toolCallId, sessionId } = item
  // The hook reports the result without delaying Claude Code. The order of the status events depends on whether the hook was
  // waiting when the answer came, so they are left out.
  await expect
    .poll(async () => (await log(sessionId)).filter(({ type }) => type !== 'session_status'))
    .toMatchObject([
      { type: 'session_started', agent: null, cwd },
      { type: 'tool_call', toolCallId, toolName: 'Bash', source: 'hook' },
      { type: 'interaction_pending' },
      { type: 'interaction_request' },
      { type: 'interaction_response', settlement: 'approved' },
      { type: 'interaction_pending' },
      { type: 'interaction_delivered' },
      { type: 'tool_result', toolCallId, output: 'so be it', isError: false },
    ])
})

it('a denied call does not run, and the model gets the reason', async () => {
  await install()
  const expects = ['Not while the tests run']
  endpoint.add({ when: 'make it not', steps: [{ say: [touch] }, { expects, say: [{ text: 'I see.' }] }] })
  const run = claudePrint('make it not', { url: endpoint.url, home, cwd })
  await answer(await pending(), { decision: 'deny', message: 'Not while the tests run.' })
  expect(await run).toBe('I see.')
  expect(existsSync(join(cwd, 'made'))).toBe(false)
})

it('a call that a rule allows is asked once', async () => {
  await install()
  endpoint.add({
    when: 'make it twice',
    steps: [{ say: [touch] }, { say: [touch] }, { expects: ['so be it'], say: [{ text: 'Twice.' }] }],
  })
  const run = claudePrint('make it twice', { url: endpoint.url, home, cwd })
  const item = await pending()
  await answer(item, { decision: 'approve', scope: 'session' })
  expect(await run).toBe('Twice.')
  const responses = (await log(item.sessionId)).filter(({ type }) => type === 'interaction_response')
  expect(responses).toMatchObject([{ via: 'http' }, { via: 'policy', settlement: 'approved' }])
})

it('a script in its shell asks in the same session, at the call that runs it', async () => {
  await install()
  const bin = join(home, 'bin')
  await mkdir(bin)
  await writeFile(
    join(bin, 'askback'),
    `#!/bin/sh\nexec "${process.execPath}" "${file}" "$@" --data "${gateway.data}"\n`,
  )
  await chmod(join(bin, 'askback'), 0o755)
  const command = 'cd / && askback ask "Which colour?" --option Red --option Blue'
  endpoint.add({
    when: 'colours',
    steps: [{ say: [{ tool: 'Bash', input: { command } }] }, { expects: ['Blue'], say: [{ text: 'Blue.' }] }],
  })
  const env = { PATH: `${bin}:${process.env['PATH']}` }
  const run = claudePrint('colours', { url: endpoint.url, home, cwd, env })
  const approval = await pending()
  await answer(approval, { decision: 'approve' })
  await expect.poll(async () => (await pending()).kind).toBe('question')
  const question = await pending()
  const { sessionId, toolCallId } = approval
  expect(question).toMatchObject({ sessionId, toolCallId, toolName: 'askback_ask', anchor: 'matched' })
  await answer(question, { answers: [{ selected: ['Blue'] }] })
  expect(await run).toBe('Blue.')
})

it('in a terminal, a question can be answered here', async () => {
  await install()
  const options = [
    { label: 'Left', description: 'l' },
    { label: 'Right', description: 'r' },
  ]
  const questions = [{ header: 'Way', question: 'Which way?', options, multiSelect: false }]
  endpoint.add({
    when: 'find the way',
    steps: [
      { say: [{ tool: 'AskUserQuestion', input: { questions } }] },
      { expects: ['"Which way?"="Right"'], say: [{ text: 'To the right then.' }] },
    ],
  })
  const terminal = await claudeTerminal('find the way', { url: endpoint.url, home, cwd })
  await answer(await pending(), { answers: [{ selected: ['Right'] }] })
  await expect.poll(terminal.shown).toContain('Totherightthen.')
})

it('in a terminal, its own prompt can be answered as well, which cancels the request here', async () => {
  await install()
  const steps = [{ say: [touch] }, { expects: ['so be it'], say: [{ text: 'Made by hand.' }] }]
  endpoint.add({ when: 'by hand', steps })
  const terminal = await claudeTerminal('by hand', { url: endpoint.url, home, cwd })
  const { sessionId } = await pending()
  await acceptPrompt(terminal, 'by hand')
  await expect.poll(terminal.shown).toContain('Madebyhand.')
  const ended = { settlement: 'cancelled' }
  await expect
    .poll(async () => (await log(sessionId)).find(({ type }) => type === 'interaction_response'))
    .toMatchObject(ended)
})

it('in a terminal, its own prompt works when no gateway runs', async () => {
  await install(newFolder())
  const steps = [{ say: [touch] }, { expects: ['so be it'], say: [{ text: 'Made alone.' }] }]
  endpoint.add({ when: 'alone', steps })
  const terminal = await claudeTerminal('alone', { url: endpoint.url, home, cwd })
  await acceptPrompt(terminal, 'alone')
  await expect.poll(terminal.shown).toContain('Madealone.')
})

it('uninstall removes the hooks, and nothing else', async () => {
  const before = { model: 'opus', hooks: { Stop: [{ hooks: [{ type: 'command', command: 'true' }] }] } }
  await mkdir(join(home, '.claude'))
  await writeFile(settings(), JSON.stringify(before))
  const { stderr } = await install()
  expect(stderr).toContain('"PermissionRequest"')
  const added = JSON.parse(await readFile(settings(), 'utf8')) as typeof before
  expect(added).toMatchObject(before)
  expect(Object.keys(added.hooks)).toEqual([
    'Stop',
    'PreToolUse',
    'PermissionRequest',
    'PostToolUse',
    'PostToolUseFailure',
  ])
  await askback('uninstall', 'claude-code')
  expect(JSON.parse(await readFile(settings(), 'utf8'))).toEqual(before)
  endpoint.add({ when: 'say hello', steps: [{ say: [{ text: 'Hello.' }] }] })
  expect(await claudePrint('say hello', { url: endpoint.url, home, cwd })).toBe('Hello.')
  const sessions = await gateway.call<{ sessions: Session[] }>('GET', '/api/sessions')
  expect(sessions.body.sessions.filter((session) => session.cwd === cwd)).toEqual([])
})
