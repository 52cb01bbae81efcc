import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newFolder } from './command.js'
import { at, question, run, serve, sqlite } from './gateways.js'
import { logIn } from './log-in.js'
import type { ErrorBody, Interaction } from '@askback/protocol'

describe('askback serve', () => {
  it('prints in one line its URL and how to log in', async () => {
    const { ready, command, data } = await serve()
    expect(command.stdout.trimEnd().split('\n')).toHaveLength(1)
    expect(Object.keys(ready)).toEqual(['url', 'openUrl', 'token', 'agentToken', 'pid'])
    expect(ready.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(ready.openUrl.startsWith(`${ready.url}/`)).toBe(true)
    expect(ready.token).not.toBe(ready.agentToken)
    expect((await fetch(`${ready.url}/healthz`)).status).toBe(200)
    expect((await fetch(`${ready.url}/readyz`)).status).toBe(200)
    const mode = (path: string) => (statSync(path).mode & 0o777).toString(8)
    expect(mode(data)).toBe('700')
    for (const file of ['tokens.json', 'gateway.json', 'askback.db'])
      expect(mode(join(data, file))).toBe('600')
  })

  it('prints a sentence without --json', async () => {
    const command = run(['serve', '--port', '0', '--data', newFolder(), '--no-open'])
    await expect.poll(() => command.stdout).toMatch(/^Askback is ready: http:\/\/\S+\n$/)
  })

  it('logs a browser in with its openUrl, once', async () => {
    const { ready } = await serve()
    const page = await fetch(ready.openUrl)
    expect(page.status).toBe(200)
    expect(page.headers.get('set-cookie')).toBeNull()
    const { headers } = await logIn(ready.openUrl)
    expect((await fetch(`${ready.url}/api/sessions`, { headers })).status).toBe(200)
    const { cookie = '' } = headers
    expect((await fetch(`${ready.url}/api/sessions`, { headers: { cookie } })).status).toBe(401)
    await expect(logIn(ready.openUrl)).rejects.toThrow('401')
    expect((await fetch(ready.openUrl)).status).toBe(401)
    expect((await fetch(ready.url)).status).toBe(200)
  })

  it('reads tokens from its environment, and does not store them', async () => {
    const env = { ASKBACK_TOKEN: 'a-persons-token', ASKBACK_AGENT_TOKEN: 'an-agents-token' }
    const gateway = await serve({ env })
    expect(gateway.ready).toMatchObject({ token: env.ASKBACK_TOKEN, agentToken: env.ASKBACK_AGENT_TOKEN })
    expect((await gateway.call('GET', '/api/sessions')).status).toBe(200)
    expect(readFileSync(join(gateway.data, 'gateway.json'), 'utf8')).not.toContain(env.ASKBACK_TOKEN)
  })

  it.each([
    ['never', undefined],
    ['90s', 90_000],
    ['2h', 7_200_000],
  ])('--timeout %s is the deadline of requests without one', async (timeout, ms) => {
    const gateway = await serve({ args: ['--timeout', timeout] })
    const { requestedAt, expiresAt } = await gateway.open(await gateway.session())
    expect(expiresAt && expiresAt - requestedAt).toBe(ms)
  })

  it.each([
    ['the settings file', { timeout: '90s' }, {}, [], 90_000],
    ['the environment, before the file', { timeout: '90s' }, { ASKBACK_TIMEOUT: '2h' }, [], 7_200_000],
    ['the flag, before both', { timeout: '90s' }, { ASKBACK_TIMEOUT: '2h' }, ['--timeout', '5m'], 300_000],
    ['the settings file, as never', { timeout: 'never' }, {}, [], undefined],
  ])('reads the default deadline from %s', async (_, config, env, args, ms) => {
    const settings = join(newFolder(), 'settings.json')
    writeFileSync(settings, JSON.stringify(config))
    const gateway = await serve({ args: ['--config', settings, ...args], env })
    const { requestedAt, expiresAt } = await gateway.open(await gateway.session())
    expect(expiresAt && expiresAt - requestedAt).toBe(ms)
  })

  it('reads its settings from config.json', async () => {
    const settings = join(newFolder(), 'settings.json')
    writeFileSync(
      settings,
      JSON.stringify({ limits: { pendingPerSession: 1 }, allowedHosts: ['my.example'] }),
    )
    const gateway = await serve({ args: ['--config', settings] })
    const id = await gateway.session()
    await gateway.open(id)
    const path = `/api/sessions/${id}/interactions`
    expect((await gateway.call('POST', path, { body: question })).status).toBe(429)
  })

  it('asks, waits, answers and resumes', async () => {
    const gateway = await serve()
    const id = await gateway.session()
    const as = gateway.ready.agentToken
    const asked = gateway.call<{ interaction: Interaction }>(
      'POST',
      `/api/sessions/${id}/interactions?wait=30`,
      {
        body: question,
        as,
      },
    )
    const pending = async () => {
      const { body } = await gateway.call<{ interactions: Interaction[] }>(
        'GET',
        '/api/interactions?status=pending',
      )
      return body.interactions[0]
    }
    await expect.poll(pending).toBeDefined()
    const item = (await pending())!
    expect((await gateway.call('POST', `${at(item)}/response`, { body: sqlite })).status).toBe(200)
    expect(await asked).toMatchObject({
      status: 201,
      body: {
        interaction: { settlement: 'answered', answer: sqlite.answer, by: { id: 'owner' }, via: 'http' },
      },
    })
  })

  it('survives every kind of request, and logs no tokens or payloads', async () => {
    const gateway = await serve({ args: [] })
    const { url, token } = gateway.ready
    const send = (body: BodyInit, type = 'application/json') =>
      fetch(`${url}/api/sessions?code=secret-in-query`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': type },
        body,
      })
    const statuses: number[] = []
    for (const body of [
      '{',
      '[]',
      Buffer.from([0xff]),
      '['.repeat(100_000),
      '{"__proto__":{}}',
      'secret-in-body',
    ])
      statuses.push((await send(body)).status)
    statuses.push((await send(Buffer.alloc(20 * 1024 * 1024))).status, (await send('x', 'text/plain')).status)
    expect(statuses).toEqual([400, 400, 400, 400, 400, 400, 413, 415])
    const unknown = await fetch(`${url}/api/nowhere`, { headers: { authorization: `Bearer ${token}` } })
    expect(((await unknown.json()) as ErrorBody).error.code).toBe('not_found')
    await fetch(`${url}/api/sessions`, { headers: { authorization: 'Bearer secret-wrong-token' } })
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    await gateway.stop('SIGTERM')
    for (const secret of [token, 'secret-in-query', 'secret-in-body', 'secret-wrong-token'])
      expect(gateway.command.stderr).not.toContain(secret)
  })
})
