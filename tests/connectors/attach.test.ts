import { Api, startTestGateway, type TestGateway } from '@askback/gateway/testing'
import type { Interaction } from '@askback/protocol'
import { spawn } from 'node:child_process'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { commandFile as file } from './command-file.js'
import { keys, PseudoTerminal } from './pseudo-terminal.js'

let gateway: TestGateway
let api: Api
let sessionId: string
beforeEach(async () => {
  gateway = await startTestGateway()
  api = new Api(gateway)
  sessionId = await api.session({ agent: null, title: 'Release' })
})
afterEach(() => gateway.close())

async function ask(kind: string, request: object, more: object = {}): Promise<Interaction> {
  const path = `/api/sessions/${sessionId}/interactions`
  const { body } = await api.post<{ interaction: Interaction }>(path, { kind, request, ...more })
  return body.interaction
}

const env = () => ({ ASKBACK_URL: gateway.url, ASKBACK_TOKEN: gateway.token })
const settled = ({ interactionId }: Interaction) => gateway.host.desk.watch(sessionId, interactionId)
const respond = ({ interactionId }: Interaction, answer: object) =>
  api.post(`/api/sessions/${sessionId}/interactions/${interactionId}/response`, { answer })

const database = { question: 'Which database?', options: [{ label: 'Postgres' }, { label: 'SQLite' }] }
const extras = {
  question: 'What else?',
  options: [{ label: 'Cache' }, { label: 'Queue' }],
  multiSelect: true,
}
const bash = { toolName: 'Bash', toolCallId: 'call' }

describe('in a terminal', () => {
  it('answers questions with keys, one after the other', async () => {
    const item = await ask('question', { questions: [database, extras] })
    const terminal = new PseudoTerminal(['attach'], env())
    await terminal.sees(/Question \(1 of 2\) · Release[^]*1 Postgres/)
    await armed()
    terminal.press(keys.down + keys.down)
    await terminal.sees('❯ 2 SQLite')
    terminal.press(keys.enter)
    await terminal.sees(/What else\?[^]*\[ \] Queue/)
    await armed()
    terminal.press('2')
    await terminal.sees('[x] Queue')
    terminal.press(keys.enter)
    expect(await settled(item)).toMatchObject({
      answer: { answers: [{ selected: ['SQLite'] }, { selected: ['Queue'] }] },
      by: { name: 'Ada' },
      via: 'terminal',
    })
    await terminal.sees('Answered by Ada in the terminal')
  })

  it('denies with a reason that is typed, and goes back with Esc before', async () => {
    const item = await ask('approval', { input: { command: 'rm -rf /' } }, bash)
    const terminal = new PseudoTerminal(['attach', sessionId], env())
    await terminal.sees(/Approve Bash\?[^]*rm -rf \/[^]*a approve/)
    await armed()
    terminal.press('3')
    await terminal.sees('Send the reason')
    terminal.forget()
    terminal.press(keys.escape)
    await terminal.sees('3 Deny with a reason')
    terminal.press('3')
    await terminal.sees('Send the reason')
    terminal.press('Not on my machine\r')
    expect(await settled(item)).toMatchObject({ settlement: 'denied', message: 'Not on my machine' })
  })

  it('takes no key that was on its way when the card came', async () => {
    const terminal = new PseudoTerminal(['attach', sessionId], env())
    await terminal.sees('Nothing waits')
    await armed()
    terminal.press('aaa')
    await terminal.sees('> aaa')
    const item = await ask('approval', { input: { command: 'ls' } }, bash)
    await terminal.sees('a approve')
    terminal.press(keys.enter)
    await armed()
    terminal.press(keys.enter)
    terminal.press('d')
    expect((await settled(item)).settlement).toBe('denied')
  })

  it('keeps a half-typed answer from another question', async () => {
    const name = await ask('question', { questions: [{ question: 'What name?', options: [] }] })
    const branch = await ask('question', { questions: [{ question: 'Which branch?', options: [] }] })
    const terminal = new PseudoTerminal(['attach', sessionId], env())
    await terminal.sees(/What name\?[^]*Send your answer/)
    await armed()
    terminal.press('main')
    await terminal.sees('> main')
    await respond(name, { answers: [{ selected: [], other: 'x' }] })
    await terminal.sees(/Which branch\?[^]*Send your answer/)
    await armed()
    terminal.press(`${keys.enter}old${keys.enter}`)
    expect((await settled(branch)).answer).toEqual({ answers: [{ selected: [], other: 'old' }] })
  })

  it('takes its controls away when somebody else was faster, and says who', async () => {
    const item = await ask('plan_review', { plan: '# The plan' })
    const terminal = new PseudoTerminal(['attach', sessionId], env())
    await terminal.sees('1 Proceed')
    await armed()
    terminal.press('4')
    await terminal.sees('what should change')
    terminal.press('half a thou')
    await terminal.sees('half a thou')
    await respond(item, { decision: 'edit' })
    await terminal.sees(/Approved by Ada over HTTP[^]*Nothing waits/)
    expect((await settled(item)).via).toBe('http')
  })

  it('spells out what would move the cursor', async () => {
    await ask(
      'approval',
      { input: { command: 'ls\u001b]0;title\u0007\u001b[2J\u009b1m' }, title: 'a\u202eb\rc' },
      bash,
    )
    const terminal = new PseudoTerminal(['attach', sessionId], env())
    await terminal.sees(/⟦U\+202E⟧b⟦CR⟧c[^]*ls⟦ESC\]0;titleBEL⟧⟦ESC\[2J⟧⟦U\+009B⟧/)
    for (const raw of ['\u001b]0', '\u001b[2J', '\u009b', '\u202e']) expect(terminal.raw).not.toContain(raw)
  })

  it('spells out in choices what would begin the line anew', async () => {
    const options = [{ label: 'Drop it\rKeep it' }]
    await ask('question', { questions: [{ question: 'Which?', options }] })
    const terminal = new PseudoTerminal(['attach', sessionId], env())
    await terminal.sees('1 Drop it⟦CR⟧Keep it')
    expect(terminal.raw).not.toContain('\rKeep it')
  })

  it('shows what was said before, and leaves with Ctrl-C while all stays pending', async () => {
    await gateway.host.desk.report({
      sessionId,
      events: [{ type: 'text', blockId: 'b', text: 'Hello there' }],
    })
    const item = await ask('question', { questions: [database] })
    const terminal = new PseudoTerminal(['attach', sessionId], env())
    await terminal.sees(/Hello there[^]*1 Postgres/)
    terminal.press(keys.ctrlC)
    expect(await terminal.ended).toBe(0)
    expect((await gateway.host.desk.interaction(sessionId, item.interactionId)).status).toBe('pending')
  })
})

it('says that the gateway is away, also to who presses a key meanwhile', async () => {
  const passing = await startTestGateway()
  const there = new Api(passing)
  const id = await there.session({ agent: null, title: 'Passing' })
  const request = { input: { command: 'ls' } }
  await there.post(`/api/sessions/${id}/interactions`, { kind: 'approval', request, ...bash })
  const terminal = new PseudoTerminal(['attach', id], {
    ASKBACK_URL: passing.url,
    ASKBACK_TOKEN: passing.token,
  })
  await terminal.sees('a approve')
  await passing.close()
  await terminal.sees('The gateway is away. What waits can be answered when it is back.')
  await armed()
  terminal.press('a')
  await terminal.sees('The gateway is away; waiting for it to come back.')
  terminal.press(keys.ctrlC)
  expect(await terminal.ended).toBe(0)
})

describe('without one', () => {
  function attach(lines: string): Promise<{ code: number | null; stdout: string }> {
    const { PATH = '' } = process.env
    const child = spawn(process.execPath, [file, 'attach', sessionId], {
      env: { PATH, HOME: '/nonexistent', ...env() },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    let stdout = ''
    child.stdout.setEncoding('utf8').on('data', (data: string) => (stdout += data))
    child.stdin.end(lines)
    return new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout })))
  }

  it('answers line by line what is piped in', async () => {
    const item = await ask('question', { questions: [database, extras] })
    const { code, stdout } = await attach('2\ncache\ndone\n')
    expect(code).toBe(0)
    expect(stdout).toContain('  2) SQLite')
    expect((await settled(item)).answer).toEqual({
      answers: [{ selected: ['SQLite'] }, { selected: ['Cache'] }],
    })
  })
})

/** A key within the first 300 ms of a card counts for nothing. */
function armed(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 350))
}
