import { fakeClock, type FakeClock } from '@askback/core/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { gatewayConfig } from '../config.js'
import { Api, signIn, startTestGateway, type TestGateway } from '../testing/index.js'

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

it('a login that ends by its age closes what it has open, at once', async () => {
  const { logins } = gateway.credentials
  const DAY_MS = 24 * 3_600_000
  const ended: string[] = []
  gateway.credentials.onRevoked((key) => ended.push(key))
  const keyOf = (cookie: string) => logins.find(cookie)!.key
  const first = keyOf((await logins.logIn(code()))!.cookie)
  clock.advance(DAY_MS)
  const second = keyOf((await logins.logIn(code()))!.cookie)
  clock.advance(29 * DAY_MS - 1)
  expect(ended).toEqual([])
  clock.advance(1)
  await expect.poll(() => ended).toEqual([first])
  await gateway.credentials.refresh()
  clock.advance(DAY_MS)
  await expect.poll(() => ended).toEqual([first, second])
})

describe('failed logins', () => {
  const wrong = () => new Api(gateway, 'wrong').get('/api/sessions')

  it('are limited by address, with a message and Retry-After', async () => {
    for (let count = 0; count < 20; count++) expect((await wrong()).status).toBe(401)
    const refused = await wrong()
    expect(refused).toMatchObject({ status: 429, body: { error: { code: 'rate_limited' } } })
    expect(Number(refused.headers['retry-after'])).toBe(60)
    clock.advance(60_000)
    expect((await wrong()).status).toBe(401)
  })

  it('count tokens, cookies and codes together', async () => {
    const name = gateway.credentials.cookieName
    for (let count = 0; count < 6; count++) {
      await wrong()
      await stranger.get('/api/sessions', { cookie: `${name}=wrong` })
      await logIn('wrong')
      await stranger.get('/login?code=wrong')
    }
    expect((await wrong()).status).toBe(429)
    expect((await logIn('wrong')).status).toBe(429)
  })

  it('do not affect valid credentials', async () => {
    const browser = new Api(gateway, null, { ...(await signIn(gateway)) })
    const good = code()
    for (let count = 0; count < 30; count++) await wrong()
    expect((await new Api(gateway).get('/api/sessions')).status).toBe(200)
    expect((await browser.get('/api/sessions')).status).toBe(200)
    expect((await logIn(good)).status).toBe(200)
  })

  it('do not include requests without a credential, or with a cookie that another port could have received', async () => {
    const { cookie } = await signIn(gateway)
    for (let count = 0; count < 30; count++) {
      await stranger.get('/api/sessions')
      await stranger.get('/api/sessions', { cookie })
    }
    expect((await wrong()).status).toBe(401)
  })
})

describe('the request rate of an agent', () => {
  const limits = { agentRequestsPerSecond: 2, agentBurst: 3 }

  it('is limited after a burst, with 429 and Retry-After, without affecting people and other agents', async () => {
    const limited = await startTestGateway({ listen: false, clock, config: { limits } })
    const agent = new Api(limited, limited.agentToken)
    const id = await new Api(limited).session({ agent: null })
    const some = (api: Api) => api.get(`/api/sessions/${id}`)
    const own = new Api(limited, limited.credentials.sessionToken(id))
    for (const _ of [1, 2, 3]) expect((await some(agent)).status).toBe(200)
    const refused = await some(agent)
    expect(refused).toMatchObject({ status: 429, body: { error: { code: 'rate_limited' } } })
    expect(Number(refused.headers['retry-after'])).toBe(1)
    for (let count = 0; count < 10; count++) expect((await some(new Api(limited))).status).toBe(200)
    expect((await some(own)).status).toBe(200)
    clock.advance(1000)
    expect((await some(agent)).status).toBe(200)
    expect((await some(agent)).status).toBe(200)
    expect((await some(agent)).status).toBe(429)
    await limited.close()
  })

  it('is limited by default, and can be unlimited', () => {
    expect(gatewayConfig.parse({}).limits).toMatchObject({ agentRequestsPerSecond: 1000, agentBurst: 10_000 })
    const off = gatewayConfig.parse({ limits: { agentRequestsPerSecond: null } })
    expect(off.limits.agentRequestsPerSecond).toBeNull()
  })
})

it('the request rate of each credential can be limited', async () => {
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
