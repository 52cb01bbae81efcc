import type { Interaction } from '@askback/protocol'
import { spawn, type ChildProcess } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BotApiServer, labelOf, TOKEN } from './bot-api-server.js'
import { commandFile } from '../e2e/http/command-file.js'

/** What `askback serve --json` prints. */
interface ReadyLine {
  url: string
  token: string
  agentToken: string
}

const CHAT = '1001'
const SECRET = 'the-secret-of-the-webhook'
let folder: string
let telegram: BotApiServer
/** The calls that the webhook received. */
let webhookCalls: { type: string; id: string }[]
const receiver = createServer((request, response) => {
  let text = ''
  request.setEncoding('utf8').on('data', (data: string) => (text += data))
  request.on('end', () => {
    webhookCalls.push(JSON.parse(text) as { type: string; id: string })
    response.end()
  })
})
const children: ChildProcess[] = []
let output = ''

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'askback-connectors-'))
  telegram = await new BotApiServer().listen()
  webhookCalls = []
  output = ''
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
})
afterEach(async () => {
  await Promise.all(children.splice(0).map(stop))
  await telegram.close()
  receiver.closeAllConnections()
  await new Promise((resolve) => receiver.close(resolve))
  rmSync(folder, { recursive: true })
})

function run(args: string[], env: Record<string, string> = {}): ChildProcess {
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [commandFile, ...args, '--data', folder], {
    env: { PATH, HOME: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stderr.setEncoding('utf8').on('data', (data: string) => (output += data))
  return child
}

async function serve(env: Record<string, string> = {}): Promise<ReadyLine> {
  const child = run(['serve', '--port', '0', '--json'], env)
  children.push(child)
  return JSON.parse(await stdoutOf(child, true)) as ReadyLine
}

function stdoutOf(child: ChildProcess, firstLine = false): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout!.setEncoding('utf8').on('data', (data: string) => {
      text += data
      if (firstLine && text.includes('\n')) resolve(text)
    })
    child.on('close', (code) =>
      code === 0 ? resolve(text) : reject(new Error(`it ended with ${code}: ${output}`)),
    )
  })
}

function stop(child: ChildProcess): Promise<unknown> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  const ended = new Promise((resolve) => child.on('close', resolve))
  child.kill('SIGTERM')
  return ended
}

function writeSettings(connectors: object): void {
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ connectors }))
}

async function post<Body>(url: string, token: string, body: object): Promise<Body> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return (await (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).json()) as Body
}

const controls = () =>
  telegram.in(CHAT).flatMap(({ markup }) => markup.inline_keyboard.flat().map(({ text }) => labelOf(text)))
async function expectControl(label: string): Promise<void> {
  await expect.poll(controls, { interval: 20 }).toContain(label)
}

it('a person pairs and answers in Telegram, a webhook is called, and both continue after a restart', async () => {
  const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
  writeSettings({ telegram: { apiRoot: telegram.url }, webhooks: [{ url: hook }] })
  const env = { ASKBACK_TELEGRAM_TOKEN: TOKEN, ASKBACK_WEBHOOK_SECRET: SECRET }
  const { url, agentToken } = await serve(env)
  const { session } = await post<{ session: { id: string } }>(`${url}/api/sessions`, agentToken, {
    agent: null,
  })
  const asked = {
    kind: 'approval',
    toolName: 'Bash',
    toolCallId: 'call',
    request: { input: { command: 'ls' } },
  }
  const interactions = `/api/sessions/${session.id}/interactions`
  const { interaction } = await post<{ interaction: Interaction }>(`${url}${interactions}`, agentToken, asked)
  const { code } = JSON.parse(await stdoutOf(run(['telegram', 'pair', '--json']))) as { code: string }
  telegram.write(CHAT, 1001, `/pair ${code}`)
  await expectControl('Approve')
  await stop(children[0]!)

  const again = await serve(env)
  telegram.tap(CHAT, 1001, 'Approve')
  const waited = await fetch(`${again.url}${interactions}/${interaction.interactionId}?wait=60`, {
    headers: { authorization: `Bearer ${again.token}` },
  })
  expect(await waited.json()).toMatchObject({ interaction: { settlement: 'approved', via: 'telegram' } })
  // A call that was in progress when the first gateway stopped may be repeated, with the same id.
  const receivedTypes = () => [...new Map(webhookCalls.map(({ id, type }) => [id, type])).values()]
  await expect.poll(receivedTypes).toEqual(['interaction.requested', 'interaction.settled'])
  await expect.poll(controls).toEqual([])
  expect(telegram.in(CHAT).filter(({ text }) => text.includes('Approve Bash?'))).toHaveLength(1)
  expect(output).not.toMatch(/a-token-that-nobody-may-log|the-secret-of-the-webhook/)
})

describe('the chat of a revoked person', () => {
  const env = { ASKBACK_TELEGRAM_TOKEN: TOKEN }
  const asked = { kind: 'approval', toolName: 'Bash', request: { input: { command: 'ls' } } }

  async function ask({ url, agentToken }: ReadyLine): Promise<void> {
    const path = `${url}/api/sessions`
    const { session } = await post<{ session: { id: string } }>(path, agentToken, { agent: null })
    await post(`${path}/${session.id}/interactions`, agentToken, asked)
  }

  async function pairGrace(ready: ReadyLine): Promise<void> {
    const made = await post<{ token: string }>(`${ready.url}/api/tokens`, ready.token, { person: 'grace' })
    const pairing = run(['telegram', 'pair', '--json', '--url', ready.url], { ASKBACK_TOKEN: made.token })
    const { code } = JSON.parse(await stdoutOf(pairing)) as { code: string }
    telegram.write(CHAT, 1001, `/pair ${code}`)
    await expectControl('Approve')
  }

  async function revokeGrace({ url, token }: ReadyLine): Promise<void> {
    const headers = { authorization: `Bearer ${token}` }
    expect((await fetch(`${url}/api/tokens/grace`, { method: 'DELETE', headers })).status).toBe(200)
  }

  async function acts({ url, token }: ReadyLine): Promise<string> {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(`${url}/api/audit?only=acts`, { headers })).text()
  }

  it('closes its cards at once, and shows no new ones', async () => {
    writeSettings({ telegram: { apiRoot: telegram.url } })
    const ready = await serve(env)
    await ask(ready)
    await pairGrace(ready)
    await revokeGrace(ready)
    await expect.poll(controls).toEqual([])
    await expect.poll(() => acts(ready)).toContain('"unpaired"')
    await ask(ready)
    telegram.write(CHAT, 1001, '/help')
    await expect.poll(() => telegram.in(CHAT).at(-1)?.text).toContain('Pair first')
    expect(controls()).toEqual([])
  })

  it('is closed at the next start, if the bot was not connected when the person was revoked', async () => {
    writeSettings({ telegram: { apiRoot: telegram.url } })
    const first = await serve(env)
    await ask(first)
    await pairGrace(first)
    await stop(children.pop()!)
    writeSettings({})
    const second = await serve()
    await revokeGrace(second)
    expect(await acts(second)).not.toContain('"unpaired"')
    await stop(children.pop()!)
    writeSettings({ telegram: { apiRoot: telegram.url } })
    const third = await serve(env)
    await expect.poll(() => acts(third)).toContain('"unpaired"')
    await expect.poll(controls).toEqual([])
  })
})

it('secrets must exist, and files with secrets must be readable by their owner only', async () => {
  const tokenFile = join(folder, 'bot-token')
  writeFileSync(tokenFile, `${TOKEN}\n`)
  chmodSync(tokenFile, 0o644)
  writeSettings({ telegram: { tokenFile, apiRoot: telegram.url } })
  await expect(stdoutOf(run(['serve', '--json', '--port', '0']))).rejects.toThrow('chmod 600')
  writeSettings({ telegram: {} })
  await expect(stdoutOf(run(['serve', '--json', '--port', '0']))).rejects.toThrow('ASKBACK_TELEGRAM_TOKEN')
  writeSettings({ webhooks: [{ url: 'https://example.com/' }] })
  await expect(stdoutOf(run(['serve', '--json', '--port', '0']))).rejects.toThrow('ASKBACK_WEBHOOK_SECRET')
  chmodSync(tokenFile, 0o600)
  writeSettings({ telegram: { tokenFile, apiRoot: telegram.url } })
  await serve()
  await expect.poll(() => telegram.calls).toContain('getUpdates')
})
