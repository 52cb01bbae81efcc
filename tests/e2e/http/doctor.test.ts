import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { newFolder } from './command.js'
import { portToKeep, run, serve } from './gateways.js'

interface Seen {
  code: number | null
  /** One line for each check: its mark and its message. */
  says: Record<string, string>
}

/** An environment without the agents and the Claude Code settings of this machine. */
async function doctor(
  data: string,
  { args = [], env = {} }: { args?: string[]; env?: Record<string, string> } = {},
): Promise<Seen> {
  const command = run(['doctor', '--data', data, ...args], { HOME: newFolder(), PATH: '/nowhere', ...env })
  const { code } = await command.ended
  expect(command.stderr).toBe('')
  const lines = command.stdout.trim().split('\n')
  const says: Seen['says'] = {}
  for (const line of lines) {
    const [, mark = '', name = '', text = ''] = /^(\S) (.+?) {2,}(.*)$/u.exec(line) ?? []
    says[name] = `${mark} ${text}`
  }
  return { code, says }
}

function dataFolder(): string {
  const data = newFolder()
  chmodSync(data, 0o700)
  return data
}

describe('everything is in order', () => {
  it('when a gateway runs', async () => {
    const { data, ready } = await serve()
    expect(await doctor(data)).toMatchObject({
      code: 0,
      says: {
        node: expect.stringMatching(/^✓ \d+\.\d+/) as unknown,
        'data folder': `✓ ${data}`,
        database: expect.stringMatching(/^✓ .*askback\.db \(\d+ KB\)$/) as unknown,
        gateway: `✓ ${ready.url} (process ${ready.pid})`,
        'Demo (scripted)': '✓ ready',
      },
    })
  })

  it('when none has ever run: no agent, no hook and no browser is needed', async () => {
    const folder = join(newFolder(), 'new')
    const { code, says } = await doctor(folder)
    expect(code).toBe(0)
    expect(says).toMatchObject({
      'data folder': `✓ ${folder} (made at the first start)`,
      gateway: '– does not run: start it with askback serve',
      Codex: expect.stringMatching(/^– .*npm install/) as unknown,
      'Claude Code hooks': expect.stringMatching(
        /^– are not installed: askback install claude-code /,
      ) as unknown,
    })
    expect(Object.keys(says)).not.toContain('database')
  })

  it('prints the same as JSON', async () => {
    const command = run(['doctor', '--data', dataFolder(), '--json'])
    expect(await command.ended).toMatchObject({ code: 0 })
    const { version, checks } = JSON.parse(command.stdout) as { version: string; checks: object[] }
    expect(version).toMatch(/^\d/)
    expect(checks).toContainEqual({
      name: 'gateway',
      ok: null,
      says: 'does not run: start it with askback serve',
    })
  })
})

describe('the gateway', () => {
  it('was killed', async () => {
    const gateway = await serve({ port: await portToKeep() })
    const { data, ready } = gateway
    await gateway.stop('SIGKILL')
    expect(await doctor(data)).toMatchObject({
      code: 0,
      says: { gateway: `– ${ready.url} ended without a clean stop: start it again with askback serve` },
    })
  })

  it('does not answer, though its process runs', async () => {
    const data = dataFolder()
    const url = 'http://127.0.0.1:1'
    writeFileSync(join(data, 'gateway.json'), JSON.stringify({ url, pid: process.pid, token: 'x' }))
    const says = `✗ ${url} does not answer, though process ${process.pid} runs: end it, and start askback serve again`
    expect(await doctor(data)).toMatchObject({ code: 1, says: { gateway: says } })
  })

  it('is something else', async () => {
    const server = createServer((_, response) => response.writeHead(404).end('no')).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect(await doctor(dataFolder(), { args: ['--url', url], env: { ASKBACK_TOKEN: 'x' } })).toMatchObject({
      code: 1,
      says: { gateway: `✗ ${url} is no gateway of Askback`, environment: '✓ ASKBACK_TOKEN set' },
    })
  })

  it('refuses the token, or lacks one', async () => {
    const { data, ready } = await serve()
    const args = ['--url', ready.url]
    expect(await doctor(data, { args, env: { ASKBACK_TOKEN: 'wrong' } })).toMatchObject({
      code: 1,
      says: { gateway: expect.stringMatching(/^✗ http\S+ refuses the token: is ASKBACK_TOKEN/) as unknown },
    })
    expect(await doctor(dataFolder(), { args })).toMatchObject({
      code: 1,
      says: { gateway: `✗ Set ASKBACK_TOKEN to a token of the gateway at ${ready.url}.` },
    })
    const asAgent = { ASKBACK_AGENT_TOKEN: ready.agentToken, ASKBACK_SESSION: 's1' }
    expect(await doctor(data, { args, env: asAgent })).toMatchObject({
      code: 0,
      says: {
        gateway: `✓ ${ready.url} (process ${ready.pid})`,
        environment: '✓ ASKBACK_SESSION, ASKBACK_AGENT_TOKEN set: commands ask in the session s1',
      },
    })
  })

  it('is another one than that of the folder, which is not at fault', async () => {
    const { data } = await serve()
    const args = ['--url', 'http://127.0.0.1:1']
    const { code, says } = await doctor(data, { args, env: { ASKBACK_TOKEN: 'x' } })
    expect(code).toBe(1)
    expect(says['gateway']).toBe('✗ http://127.0.0.1:1 does not answer: is the address right?')
    expect(says['database']).toMatch(/^✓ /)
  })

  it('cannot use its store', async () => {
    const server = createServer((_, response) => {
      const error = { code: 'unavailable', message: 'The store does not answer.' }
      response.writeHead(503).end(JSON.stringify({ error }))
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect(await doctor(dataFolder(), { args: ['--url', url], env: { ASKBACK_TOKEN: 'x' } })).toMatchObject({
      code: 1,
      says: { gateway: `✗ ${url} takes no work now: The store does not answer.` },
    })
  })

  it('left a file that is damaged', async () => {
    const data = dataFolder()
    writeFileSync(join(data, 'gateway.json'), '{')
    const says = `✗ The file ${join(data, 'gateway.json')} is damaged: it is not a JSON object.`
    expect(await doctor(data)).toMatchObject({ code: 1, says: { gateway: says } })
  })
})

describe('the data', () => {
  it('can be read by others', async () => {
    const data = dataFolder()
    chmodSync(data, 0o755)
    const says = `✗ ${data} can be read by others: run chmod 700 on it`
    expect(await doctor(data)).toMatchObject({ code: 1, says: { 'data folder': says } })
  })

  it('is a file', async () => {
    const data = join(newFolder(), 'file')
    writeFileSync(data, '')
    expect(await doctor(data)).toMatchObject({
      code: 1,
      says: { 'data folder': `✗ ${data} is a file: name a folder with --data` },
    })
  })

  it('is held by a process that is no gateway', async () => {
    const data = dataFolder()
    const holder = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    onTestFinished(() => void holder.kill('SIGKILL'))
    const path = join(data, 'askback.db')
    writeFileSync(path, '')
    writeFileSync(`${path}-owner`, JSON.stringify({ pid: holder.pid, host: hostname() }))
    const says = `✗ ${path} is in use by process ${holder.pid}, which is no gateway that answers: end it first`
    expect(await doctor(data)).toMatchObject({ code: 1, says: { database: says } })
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    expect(await doctor(data)).toMatchObject({ code: 0, says: { database: `✓ ${path} (0 KB)` } })
  })

  it('is no database', async () => {
    const data = dataFolder()
    writeFileSync(join(data, 'askback.db'), 'hello, this is a text and no database')
    const says = `✗ ${join(data, 'askback.db')} is not an Askback database`
    expect(await doctor(data)).toMatchObject({ code: 1, says: { database: says } })
  })
})

describe('the settings', () => {
  it.each<[string, string[], Record<string, string>, object]>([
    ['--claude', ['--claude', '/nowhere/claude'], { ASKBACK_CLAUDE: '/bin/sh' }, {}],
    ['ASKBACK_CLAUDE', [], { ASKBACK_CLAUDE: '/nowhere/claude' }, { executable: '/bin/sh' }],
    ['config.json', [], {}, { executable: '/nowhere/claude' }],
  ])('%s names the Claude Code that is looked for', async (_name, args, env, claude) => {
    const data = dataFolder()
    writeFileSync(join(data, 'config.json'), JSON.stringify({ agents: { claude } }))
    expect(await doctor(data, { args, env })).toMatchObject({
      code: 0,
      says: { Claude: '– There is no Claude Code to run at /nowhere/claude.' },
    })
  })

  it.each<[string, object, RegExp]>([
    ['do not fit', { agents: { claude: { executable: 1 } } }, /do not fit at agents\.claude\.executable/],
    ['have a bot without a token', { connectors: { telegram: {} } }, /a Telegram bot but no token/],
  ])('%s', async (_, config, says) => {
    const data = dataFolder()
    writeFileSync(join(data, 'config.json'), JSON.stringify(config))
    const seen = await doctor(data)
    expect(seen.code).toBe(1)
    expect(seen.says['settings']).toMatch(says)
  })
})

describe('the hooks of Claude Code', () => {
  it.each<[string, string | object, RegExp]>([
    ['are there', hooks('askback hook claude-code'), /^✓ in \S+settings\.json$/],
    ['lead nowhere', hooks("node '/gone/askback' hook claude-code"), /^✗ .* names a program that is gone/],
    ['cannot be read', '{', /^✗ The settings \S+ are damaged/],
  ])('%s', async (_, settings, says) => {
    const home = newFolder()
    mkdirSync(join(home, '.claude'))
    const text = typeof settings === 'string' ? settings : JSON.stringify(settings)
    writeFileSync(join(home, '.claude/settings.json'), text)
    const seen = await doctor(dataFolder(), { env: { HOME: home } })
    expect(seen.says['Claude Code hooks']).toMatch(says)
  })
})

function hooks(command: string): object {
  return { hooks: { PreToolUse: [{ matcher: '*', hooks: [{ type: 'command', command }] }] } }
}
