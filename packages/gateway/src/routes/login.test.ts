import { createHash } from 'node:crypto'
import type { Interaction } from '@askback/protocol'
import { fakeClock, type FakeClock } from '@askback/core/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  Api,
  question,
  signIn,
  sqlite,
  startTestGateway,
  type BrowserLogin,
  type TestGateway,
} from '../testing/index.js'

let gateway: TestGateway
let clock: FakeClock
let stranger: Api
beforeEach(async () => {
  clock = fakeClock()
  gateway = await startTestGateway({ listen: false, clock })
  stranger = new Api(gateway, null)
})
afterEach(() => gateway.close())

const code = () => gateway.credentials.createLoginCode(gateway.credentials.owner)
const logIn = (with_ = code(), headers: Record<string, string> = {}) =>
  stranger.post<{ person: unknown; proof: string }>('/api/login', { code: with_ }, headers)
const asPerson = async (name: string) => {
  const token = gateway.credentials.createToken()
  await gateway.credentials.addToken(name, token)
  return token
}

describe('a one-time code', () => {
  it('is exchanged for a proof, and a cookie that no script can read and no other site can send', async () => {
    const { status, body, headers } = await logIn()
    expect(status).toBe(200)
    expect(body.person).toEqual({ id: 'owner', name: 'Ada' })
    expect(body.proof).toMatch(/^proof_[\w-]{43}$/)
    expect(String(headers['set-cookie'])).toMatch(
      /^askback_\w+=[\w-]+; HttpOnly; SameSite=Strict; Path=\/; Max-Age=\d+$/,
    )
    expect(headers['cache-control']).toBe('no-store')
  })

  it('works once', async () => {
    const once = code()
    expect((await logIn(once)).status).toBe(200)
    expect(await logIn(once)).toMatchObject({ status: 401, body: { error: { code: 'unauthorized' } } })
  })

  it('works for ten minutes', async () => {
    const [early, late] = [code(), code()]
    clock.advance(10 * 60_000 - 1)
    expect((await logIn(early)).status).toBe(200)
    clock.advance(1)
    expect((await logIn(late)).status).toBe(401)
  })

  it('that is unknown or missing logs nobody in', async () => {
    expect((await logIn('nonsense')).status).toBe(401)
    expect((await stranger.post('/api/login', {})).status).toBe(400)
    expect((await stranger.post('/api/login', { code: 1 })).status).toBe(400)
  })

  it.each([
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['plain text', { 'content-type': 'text/plain' }, 415],
    ['another site', { origin: 'https://evil.example' }, 403],
    ['another port', { host: 'localhost:4100', origin: 'http://localhost:3000' }, 403],
    ['a site whose browser names no origin', { 'sec-fetch-site': 'cross-site' }, 403],
    ['a page that may call the API', { origin: 'https://ide.example' }, 403],
  ])('cannot be sent by %s, and stays unused', async (_, headers, status) => {
    const other = await startTestGateway({
      listen: false,
      config: { allowedOrigins: ['https://ide.example'] },
    })
    const unused = other.credentials.createLoginCode(other.credentials.owner)
    const api = new Api(other, null)
    const refused = await api.post('/api/login', { code: unused }, headers)
    expect(refused.status).toBe(status)
    expect(refused.headers['set-cookie']).toBeUndefined()
    expect((await api.post('/api/login', { code: unused })).status).toBe(200)
    await other.close()
  })
})

describe('the login page', () => {
  it('logs nobody in when it is fetched, and leaves the code unused', async () => {
    const unused = code()
    for (const _ of [1, 2]) {
      const { status, headers, body } = await stranger.get<string>(`/login?code=${unused}`)
      expect(status).toBe(200)
      expect(headers['content-type']).toMatch(/^text\/html/)
      expect(headers['set-cookie']).toBeUndefined()
      expect(headers['referrer-policy']).toBe('no-referrer')
      expect(headers['cache-control']).toBe('no-store')
      expect(body).not.toContain(unused)
    }
    expect((await logIn(unused)).status).toBe(200)
  })

  it('may run only its own script, and cannot be framed', async () => {
    const { headers, body } = await stranger.get<string>(`/login?code=${code()}`)
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toContain("connect-src 'self'")
    expect(policy).not.toContain('unsafe-inline')
    const script = /<script>([^]*?)<\/script>/.exec(body)?.[1] ?? ''
    expect(policy).toContain(`'sha256-${createHash('sha256').update(script).digest('base64')}'`)
  })

  describe('under another loopback name', () => {
    let listening: TestGateway
    beforeEach(async () => {
      listening = await startTestGateway({ config: { allowedHosts: ['box.example'] } })
    })
    afterEach(() => listening.close())
    const page = (host: string) => {
      const { credentials } = listening
      const link = `/login?code=${credentials.createLoginCode(credentials.owner)}`
      return { link, answer: new Api(listening, null).get(link, { host }) }
    }

    it.each(['localhost:4100', '[::1]:4100', 'LOCALHOST:4100'])(
      'leads from %s to the one that browsers keep their login under',
      async (host) => {
        const { link, answer } = page(host)
        const { status, headers } = await answer
        expect(status).toBe(307)
        // The port does not change, because it may be forwarded from another machine.
        expect(headers['location']).toBe(`http://127.0.0.1:4100${link}`)
        expect(headers['cache-control']).toBe('no-store')
      },
    )

    it.each(['127.0.0.1:4100', 'box.example'])('stays at %s', async (host) => {
      expect((await page(host).answer).status).toBe(200)
    })

    it('refuses an unknown code, too', async () => {
      const answer = await new Api(listening, null).get('/login?code=x%22%0d%0ay', { host: 'localhost' })
      expect(answer.status).toBe(401)
    })
  })

  it('says what to do about a link that was used, has expired or is of another gateway', async () => {
    const used = code()
    await logIn(used)
    const old = code()
    clock.advance(10 * 60_000)
    for (const link of [
      `/login?code=${used}`,
      `/login?code=${old}`,
      '/login?code=x',
      '/login',
      '/login?code=a&code=b',
    ]) {
      const { status, body, headers } = await stranger.get<string>(link)
      expect(status).toBe(401)
      expect(headers['content-type']).toMatch(/^text\/html/)
      expect(body).toContain('askback open')
      expect(body).not.toContain('<script>')
    }
  })

  it('escapes the name of the person whose code it is', async () => {
    const theirs = gateway.credentials.createLoginCode({ id: 'x', name: '"><script>alert(1)</script>' })
    const { body } = await stranger.get<string>(`/login?code=${theirs}`)
    expect(body).not.toContain('<script>alert')
  })
})

describe('another browser', () => {
  it('of the same person gets a code of its own', async () => {
    const made = await new Api(gateway, await asPerson('grace')).post<{ openUrl: string }>('/api/logins')
    expect(made.status).toBe(201)
    const browser = new Api(gateway, null, {
      ...(await signIn(gateway, new URL(made.body.openUrl).searchParams.get('code')!)),
    })
    const id = await browser.session()
    await browser.post(`/api/sessions/${id}/messages`, { text: 'hello' })
    const events = await gateway.store.read({ sessionId: id, limit: 10 })
    expect(events.at(-1)).toMatchObject({ type: 'user_message', by: { id: 'grace' } })
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
  it('with its proof is a person on the web', async () => {
    const browser = new Api(gateway, null, { ...(await signIn(gateway)) })
    const item = await browser.open(await browser.session(), question)
    const path = `/api/sessions/${item.sessionId}/interactions/${item.interactionId}/response`
    const settled = await browser.post<{ interaction: Interaction }>(path, sqlite, {
      'askback-surface': 'cli',
    })
    expect(settled.body.interaction).toMatchObject({ by: { id: 'owner', name: 'Ada' }, via: 'web' })
  })

  it('is not valid without its proof, nor a proof without its cookie', async () => {
    const { cookie, 'askback-proof': proof } = await signIn(gateway)
    const another = await signIn(gateway)
    for (const headers of [
      { cookie },
      { 'askback-proof': proof },
      { cookie, 'askback-proof': '' },
      { cookie, 'askback-proof': 'wrong' },
      { cookie, 'askback-proof': another['askback-proof'] },
      { cookie, 'askback-proof': `${proof}\u00e9` },
    ] as Record<string, string>[]) {
      const { status, body } = await stranger.get('/api/sessions', headers)
      expect({ headers, status, body }).toMatchObject({
        status: 401,
        body: { error: { code: 'unauthorized' } },
      })
    }
  })

  it('is valid even if another port has set cookies of the same name with longer paths', async () => {
    const { cookie, 'askback-proof': proof } = await signIn(gateway)
    const other = await signIn(gateway)
    const name = gateway.credentials.cookieName
    const tossed = [...Array.from({ length: 20 }, (_, index) => `${name}=x${index}`), other.cookie]
    const headers = { cookie: [...tossed, cookie].join('; '), 'askback-proof': proof }
    for (let count = 0; count < 30; count++)
      expect((await stranger.get('/api/sessions', headers)).status).toBe(200)
    expect((await stranger.get('/api/sessions', { authorization: 'Bearer wrong' })).status).toBe(401)
  })

  it('among several of the same name counts as one failed login', async () => {
    const cookie = Array.from({ length: 8 }, () => `${gateway.credentials.cookieName}=x`).join('; ')
    for (let count = 0; count < 20; count++)
      expect((await stranger.get('/api/sessions', { cookie })).status).toBe(401)
    expect((await stranger.get('/api/sessions', { cookie })).status).toBe(429)
  })

  it('lasts thirty days', async () => {
    const browser = new Api(gateway, null, { ...(await signIn(gateway)) })
    clock.advance(30 * 24 * 3_600_000 - 1)
    expect((await browser.get('/api/sessions')).status).toBe(200)
    clock.advance(1)
    expect((await browser.get('/api/sessions')).status).toBe(401)
  })

  it('and its proof survive a restart, and are stored as hashes only', async () => {
    const login = await signIn(gateway)
    const cookie = login.cookie.split('=').at(-1)!
    for (const entry of await gateway.store.kv.list('')) {
      expect(JSON.stringify(entry)).not.toContain(cookie)
      expect(JSON.stringify(entry)).not.toContain(login['askback-proof'])
    }
    const again = await startTestGateway({ listen: false, clock, store: gateway.store })
    expect((await new Api(again, null, { ...login }).get('/api/sessions')).status).toBe(200)
  })

  it('without a stored proof is not valid', async () => {
    const cookie = 'askback_web_old'
    const key = `credential/cookie/${createHash('sha256').update(cookie).digest('hex')}`
    const value = { by: { id: 'owner' }, at: clock.now(), expiresAt: clock.now() + 1000 }
    await gateway.store.kv.put(key, value, null)
    const again = await startTestGateway({ listen: false, clock, store: gateway.store })
    const headers = { cookie: `${again.credentials.cookieName}=${cookie}`, 'askback-proof': 'undefined' }
    expect((await new Api(again, null, headers).get('/api/sessions')).status).toBe(401)
  })

  it('does not make a wrong token valid', async () => {
    const browser = new Api(gateway, 'wrong', { ...(await signIn(gateway)) })
    expect((await browser.get('/api/sessions')).status).toBe(401)
  })

  it('of another gateway on this machine is ignored', async () => {
    const other = await startTestGateway({ listen: false })
    expect(other.credentials.cookieName).not.toBe(gateway.credentials.cookieName)
    await other.close()
  })

  it('is ignored for a page of an allowed origin', async () => {
    const other = await startTestGateway({
      listen: false,
      config: { allowedOrigins: ['https://ide.example'] },
    })
    const login = await signIn(other)
    const page = { origin: 'https://ide.example', 'sec-fetch-site': 'cross-site' }
    expect((await new Api(other, null, { ...login }).get('/api/sessions', page)).status).toBe(401)
    expect((await new Api(other).get('/api/sessions', page)).status).toBe(200)
    await other.close()
  })
})

describe('signing out', () => {
  const may = async (login: BrowserLogin) => (await stranger.get('/api/sessions', { ...login })).status

  it('ends this login and clears its cookie', async () => {
    const [one, two] = [await signIn(gateway), await signIn(gateway)]
    const { status, body, headers } = await new Api(gateway, null, { ...one }).post<unknown>(
      '/api/logout',
      {},
    )
    expect({ status, body }).toEqual({ status: 200, body: { ok: true } })
    expect(String(headers['set-cookie'])).toMatch(
      /^askback_\w+=; HttpOnly; SameSite=Strict; Path=\/; Max-Age=0$/,
    )
    expect([await may(one), await may(two)]).toEqual([401, 200])
  })

  it('needs no body', async () => {
    const login = await signIn(gateway)
    expect((await new Api(gateway, null, { ...login }).post('/api/logout')).status).toBe(200)
    expect(await may(login)).toBe(401)
  })

  it('everywhere ends all logins and unused links of this person, and nobody else’s', async () => {
    const grace = { id: 'grace' }
    await asPerson('grace')
    const [one, two] = [await signIn(gateway), await signIn(gateway)]
    const theirs = await signIn(gateway, gateway.credentials.createLoginCode(grace))
    const unused = code()
    expect((await new Api(gateway, null, { ...one }).post('/api/logout', { all: true })).status).toBe(200)
    expect([await may(one), await may(two), await may(theirs)]).toEqual([401, 401, 200])
    expect((await logIn(unused)).status).toBe(401)
    expect((await new Api(gateway).get('/api/sessions')).status).toBe(200)
  })

  it('with a token ends all logins only if the body says so', async () => {
    const login = await signIn(gateway)
    expect((await new Api(gateway).post('/api/logout', {})).status).toBe(400)
    expect(await may(login)).toBe(200)
    expect((await new Api(gateway).post('/api/logout', { all: true })).status).toBe(200)
    expect(await may(login)).toBe(401)
  })

  it('may be done for another person, by name', async () => {
    await asPerson('grace')
    const theirs = await signIn(gateway, gateway.credentials.createLoginCode({ id: 'grace' }))
    const own = await signIn(gateway)
    expect((await new Api(gateway).post('/api/logout', { all: true, person: 'grace' })).status).toBe(200)
    expect([await may(theirs), await may(own)]).toEqual([401, 200])
    expect((await new Api(gateway).post('/api/logout', { all: true, person: 'nobody' })).status).toBe(404)
    expect((await new Api(gateway).post('/api/logout', { person: 'grace' })).status).toBe(400)
  })

  it('is not for agents', async () => {
    expect((await new Api(gateway, gateway.agentToken).post('/api/logout', { all: true })).status).toBe(403)
  })

  it('happens for the first person when their token is replaced', async () => {
    const login = await signIn(gateway)
    await asPerson('grace')
    const theirs = await signIn(gateway, gateway.credentials.createLoginCode({ id: 'grace' }))
    const { store } = gateway
    const same = await startTestGateway({ listen: false, clock, store })
    expect((await new Api(same, null, { ...login }).get('/api/sessions')).status).toBe(200)
    const replaced = await startTestGateway({ listen: false, clock, store, token: 'another' })
    expect((await new Api(replaced, null, { ...login }).get('/api/sessions')).status).toBe(401)
    expect((await new Api(replaced, null, { ...theirs }).get('/api/sessions')).status).toBe(200)
    // The logins stay invalid after the old token is restored.
    const back = await startTestGateway({ listen: false, clock, store })
    expect((await new Api(back, null, { ...login }).get('/api/sessions')).status).toBe(401)
  })
})
