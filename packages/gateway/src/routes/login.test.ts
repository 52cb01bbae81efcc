import type { Interaction } from '@askback/protocol'
import { fakeClock, type FakeClock } from '@askback/core/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Api, question, sqlite, startTestGateway, type TestGateway } from '../testing/index.js'

let gateway: TestGateway
let clock: FakeClock
let stranger: Api
beforeEach(async () => {
  clock = fakeClock()
  gateway = await startTestGateway({ listen: false, clock })
  stranger = new Api(gateway, null)
})
afterEach(() => gateway.close())

const code = () => gateway.credentials.loginCode(gateway.credentials.owner)
const logIn = (with_ = code()) => stranger.get(`/login?code=${with_}`)

/** As a browser would send it back. */
async function cookie(): Promise<{ cookie: string }> {
  const { headers } = await logIn()
  return { cookie: `theme=dark; ${String(headers['set-cookie']).split(';', 1)[0]}` }
}

describe('a one-time code', () => {
  it('is exchanged for a cookie that no script can read and no other site can send', async () => {
    const { status, headers } = await logIn()
    expect(status).toBe(303)
    expect(headers.location).toBe('/')
    expect(String(headers['set-cookie'])).toMatch(
      /^askback_\w+=[\w-]+; HttpOnly; SameSite=Strict; Path=\/; Max-Age=\d+$/,
    )
  })

  it('works once', async () => {
    const once = code()
    expect((await logIn(once)).status).toBe(303)
    expect(await logIn(once)).toMatchObject({ status: 401, body: { error: { code: 'unauthorized' } } })
  })

  it('works for ten minutes', async () => {
    const [early, late] = [code(), code()]
    clock.advance(10 * 60_000 - 1)
    expect((await logIn(early)).status).toBe(303)
    clock.advance(1)
    expect((await logIn(late)).status).toBe(401)
  })

  it('that nobody made, or that is missing, gets nobody in', async () => {
    expect((await logIn('nonsense')).status).toBe(401)
    expect((await stranger.get('/login')).status).toBe(401)
    expect((await stranger.get('/login?code=a&code=b')).status).toBe(400)
  })
})

describe('another browser', () => {
  it('of the same person gets a code of its own', async () => {
    await new Api(gateway).post('/api/tokens', { person: 'grace' })
    const grace = gateway.credentials.newToken()
    await gateway.credentials.keep('grace', grace)
    const made = await new Api(gateway, grace).post<{ openUrl: string }>('/api/logins')
    expect(made.status).toBe(201)
    const { pathname, search } = new URL(made.body.openUrl)
    const { status, headers } = await stranger.get(pathname + search)
    expect(status).toBe(303)
    const browser = new Api(gateway, null, { cookie: String(headers['set-cookie']).split(';', 1)[0]! })
    const id = await browser.session()
    await browser.post(`/api/sessions/${id}/messages`, { text: 'hello' })
    const events = await gateway.store.read({ sessionId: id, limit: 10 })
    expect(events.at(-1)).toMatchObject({ type: 'user_message', by: { id: 'grace' } })
  })

  it('that follows an old link is shown a page', async () => {
    const { status, body } = await stranger.get<string>('/login?code=old', { accept: 'text/html,*/*' })
    expect(status).toBe(401)
    expect(body).toContain('This link has been used')
  })

  it('gets the same link for the same key', async () => {
    const key = { 'idempotency-key': 'k' }
    const [one, two] = [
      await new Api(gateway).post('/api/logins', undefined, key),
      await new Api(gateway).post('/api/logins', undefined, key),
    ]
    expect([one.status, two.status]).toEqual([201, 200])
    expect(two.body).toEqual(one.body)
  })
})

describe('a cookie', () => {
  it('is a person on the web', async () => {
    const browser = new Api(gateway, null, await cookie())
    const item = await browser.open(await browser.session(), question)
    const path = `/api/sessions/${item.sessionId}/interactions/${item.interactionId}/response`
    const settled = await browser.post<{ interaction: Interaction }>(path, sqlite, {
      'askback-surface': 'cli',
    })
    expect(settled.body.interaction).toMatchObject({ by: { id: 'owner', name: 'Ada' }, via: 'web' })
  })

  it('lasts thirty days', async () => {
    const browser = new Api(gateway, null, await cookie())
    clock.advance(30 * 24 * 3_600_000 - 1)
    expect((await browser.get('/api/sessions')).status).toBe(200)
    clock.advance(1)
    expect((await browser.get('/api/sessions')).status).toBe(401)
  })

  it('survives a restart, and is kept as a hash only', async () => {
    const headers = await cookie()
    const value = headers.cookie.split('=').at(-1)!
    for (const { key, value: kept } of await gateway.store.kv.list('')) {
      expect(key).not.toContain(value)
      expect(JSON.stringify(kept)).not.toContain(value)
    }
    const again = await startTestGateway({ listen: false, clock, store: gateway.store })
    expect((await new Api(again, null, headers).get('/api/sessions')).status).toBe(200)
  })

  it('does not help a token that is wrong', async () => {
    const browser = new Api(gateway, 'wrong', await cookie())
    expect((await browser.get('/api/sessions')).status).toBe(401)
  })

  it('of another gateway on this machine is not taken for its own', async () => {
    const other = await startTestGateway({ listen: false })
    expect(other.credentials.cookieName).not.toBe(gateway.credentials.cookieName)
    await other.close()
  })
})

describe('failed logins', () => {
  const wrong = () => new Api(gateway, 'wrong').get('/api/sessions')

  it('are limited by address, in words and with Retry-After', async () => {
    for (let count = 0; count < 20; count++) expect((await wrong()).status).toBe(401)
    const refused = await wrong()
    expect(refused).toMatchObject({ status: 429, body: { error: { code: 'rate_limited' } } })
    expect(Number(refused.headers['retry-after'])).toBe(60)
    clock.advance(60_000)
    expect((await wrong()).status).toBe(401)
  })

  it('count tokens, cookies and codes together', async () => {
    const name = gateway.credentials.cookieName
    for (let count = 0; count < 7; count++) {
      await wrong()
      await stranger.get('/api/sessions', { cookie: `${name}=wrong` })
      await logIn('wrong')
    }
    expect((await wrong()).status).toBe(429)
    expect((await logIn('wrong')).status).toBe(429)
  })

  it('never keep a valid credential out', async () => {
    const browser = new Api(gateway, null, await cookie())
    const good = code()
    for (let count = 0; count < 30; count++) await wrong()
    expect((await new Api(gateway).get('/api/sessions')).status).toBe(200)
    expect((await browser.get('/api/sessions')).status).toBe(200)
    expect((await logIn(good)).status).toBe(303)
  })

  it('are not those who show nothing', async () => {
    for (let count = 0; count < 30; count++) await stranger.get('/api/sessions')
    expect((await wrong()).status).toBe(401)
  })
})

it('a rate per credential can be set, and spares the others', async () => {
  const limited = await startTestGateway({
    listen: false,
    clock,
    config: { limits: { requestsPerMinute: 3 } },
  })
  const person = new Api(limited)
  for (const _ of [1, 2, 3]) expect((await person.get('/api/sessions')).status).toBe(200)
  const refused = await person.get('/api/sessions')
  expect(refused.status).toBe(429)
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  expect((await new Api(limited, limited.agentToken).post('/api/sessions', { agent: null })).status).toBe(201)
  clock.advance(60_000)
  expect((await person.get('/api/sessions')).status).toBe(200)
  await limited.close()
})
