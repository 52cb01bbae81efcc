import type { Session } from '@askback/protocol'
import type { IncomingMessage } from 'node:http'
import { Writable } from 'node:stream'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { Api, question, sqlite, startTestGateway, type TestGateway } from '../testing/index.js'
import type { AuthenticatedActor } from './embedder.js'

const IDE = 'https://ide.example'
const people: Record<string, unknown> = {
  ann: { id: 'u1', name: 'Ann', role: 'person', tags: { tenant: 'acme' } },
  bot: { id: 'bot', role: 'agent', tags: { tenant: 'acme' } },
  owner: { id: 'owner', role: 'person' },
  nameless: { name: 'X', role: 'person' },
  king: { id: 'k', role: 'king' },
  half: { id: 'half \ud800', role: 'person' },
}

/** A product's login: its cookie names the person. */
function authenticate({ headers }: IncomingMessage): AuthenticatedActor | null {
  const token = headers.authorization?.replace('Product ', '')
  const name = token ?? /product=(\w+)/.exec(headers.cookie ?? '')?.[1]
  if (name === 'broken') throw new Error('the database of the product is down')
  return name === undefined ? null : ((people[name] as AuthenticatedActor | undefined) ?? null)
}

let gateway: TestGateway
let logged: string
const start = async (options: Parameters<typeof startTestGateway>[0] = {}) => {
  logged = ''
  const log = new Writable({
    write(line: Buffer, _encoding, done) {
      logged += line.toString()
      done()
    },
  })
  gateway = await startTestGateway({ authenticate, log, config: { allowedOrigins: [IDE] }, ...options })
}
afterEach(() => gateway.close())
const as = (name: string, headers: Record<string, string> = {}) =>
  new Api(gateway, null, { cookie: `theme=dark; product=${name}`, ...headers })

describe('a login of the embedding program', () => {
  it('names who answers, and tags the sessions that they create', async () => {
    await start()
    const ann = as('ann', { 'sec-fetch-site': 'same-origin' })
    const made = await ann.post<{ session: Session }>('/api/sessions', {
      agent: null,
      tags: { tenant: 'globex', team: 'ops' },
    })
    expect(made.body.session.tags).toEqual({ tenant: 'acme', team: 'ops' })
    const { id } = made.body.session
    const { interactionId } = await ann.open(id)
    const answered = await ann.post(`/api/sessions/${id}/interactions/${interactionId}/response`, sqlite)
    expect(answered.body).toMatchObject({ interaction: { by: { id: 'u1', name: 'Ann' }, via: 'web' } })
  })

  it('may be an agent, which asks and does not answer', async () => {
    await start()
    const bot = as('bot')
    const id = await bot.session()
    const { interactionId } = await bot.open(id)
    const answered = await bot.post(`/api/sessions/${id}/interactions/${interactionId}/response`, sqlite)
    expect(answered.status).toBe(403)
  })

  it('does not replace the tokens of Askback itself', async () => {
    await start()
    expect((await new Api(gateway).get('/api/tokens')).status).toBe(200)
    expect((await new Api(gateway, 'wrong').get('/api/sessions')).status).toBe(401)
    expect((await new Api(gateway, null).get('/api/sessions')).status).toBe(401)
    expect((await as('nobody').get('/api/sessions')).status).toBe(401)
  })

  it.each(['GET /api/tokens', 'POST /api/tokens', 'GET /api/metrics', 'GET /api/backup'])(
    'administers nothing unless authorize says so: %s',
    async (route) => {
      await start()
      const [method, path] = route.split(' ') as [string, string]
      const { status } = await as('ann').send(method, path, method === 'POST' ? { person: 'x' } : undefined)
      expect(status).toBe(403)
    },
  )

  it.each(['POST /api/logins', 'POST /api/logout'])('is not made or ended by Askback: %s', async (route) => {
    await start()
    const { status, body } = await as('ann').post(route.split(' ')[1]!, route.endsWith('t') ? {} : undefined)
    expect({ status, message: body.error.message }).toEqual({
      status: 400,
      message: 'You are signed in by the program around Askback: sign in and out there.',
    })
  })

  it.each([
    ['broken', 'the database of the product is down'],
    ['nameless', 'authenticate returned no valid actor'],
    ['king', 'authenticate returned no valid actor'],
    ['half', 'a lone surrogate'],
    ['owner', 'the id \\"owner\\" is that of Askback\'s own first person'],
  ])('that fails (%s) lets nobody in, and the log says why', async (name, why) => {
    await start()
    const { status, body } = await as(name).get('/api/sessions')
    expect({ status, message: body.error.message }).toEqual({
      status: 503,
      message: 'It could not be checked whether you are signed in. Try again.',
    })
    expect(logged).toContain(why)
  })

  it('that does not answer lets nobody in after a while', async () => {
    await start({ authenticate: () => new Promise(() => {}), decisionMs: 20 })
    expect((await as('ann').get('/api/sessions')).status).toBe(503)
    expect(logged).toContain('authenticate did not answer within 20 ms')
  })
})

describe('a cookie of the embedding program', () => {
  it.each([
    [{ 'sec-fetch-site': 'cross-site' }],
    [{ 'sec-fetch-site': 'same-site' }],
    [{ origin: 'https://evil.example' }],
    [{ origin: 'http://localhost:9999', 'sec-fetch-site': 'same-site' }],
    [{ origin: IDE, 'sec-fetch-site': 'cross-site' }],
  ])('does not work from a foreign page, for reads and writes: %o', async (headers) => {
    await start()
    const foreign = as('ann', headers)
    expect((await foreign.get('/api/sessions')).status).toBe(403)
    expect((await foreign.post('/api/sessions', { agent: null })).status).toBe(403)
    expect((await foreign.get('/api/events')).status).toBe(403)
    expect((await gateway.host.desk.sessions()).items).toEqual([])
  })

  it('works from a page of the gateway itself, and from programs', async () => {
    await start()
    expect((await as('ann', { 'sec-fetch-site': 'same-origin' }).get('/api/sessions')).status).toBe(200)
    expect((await as('ann').get('/api/sessions')).status).toBe(200)
  })

  it('works from a page of an allowed origin only if that was switched on', async () => {
    const page = { origin: IDE, 'sec-fetch-site': 'cross-site' }
    await start()
    const withToken = new Api(gateway, null, { ...page, authorization: 'Product ann' })
    expect((await withToken.get('/api/sessions')).status).toBe(200)
    await gateway.close()
    await start({ config: { allowedOrigins: [IDE], allowedOriginsMaySendCookies: true } })
    const { status, headers } = await as('ann', page).post('/api/sessions', { agent: null })
    expect(status).toBe(201)
    expect(headers['access-control-allow-credentials']).toBe('true')
    expect((await as('ann', { origin: 'https://evil.example' }).get('/api/sessions')).status).toBe(403)
  })

  it('opens a WebSocket for pages of the gateway itself, without a proof, and for no other page', async () => {
    await start()
    const url = `${gateway.url.replace('http', 'ws')}/api/ws`
    const open = (origin: string) =>
      new Promise<string>((resolve) => {
        const socket = new WebSocket(url, { headers: { cookie: 'product=ann', origin } })
        socket.on('open', () => socket.send('{"op":"ping","ref":1}'))
        socket.on('message', (data) => {
          resolve((data as Buffer).toString())
          socket.close()
        })
        socket.on('error', (error) => resolve(error.message))
      })
    expect(await open(gateway.url)).toBe('{"ref":1,"ok":true}')
    expect(await open('https://evil.example')).toContain('403')
    expect(await open(IDE)).toContain('403')
  })
})

describe('an actor that the embedder revokes', () => {
  it('loses a long poll at once as an agent, too', async () => {
    await start()
    const id = await as('ann').session()
    const bot = as('bot')
    const { interactionId } = await bot.open(id, question)
    let polled = 0
    void bot.get(`/api/sessions/${id}/interactions/${interactionId}?wait=60`).then(({ status }) => {
      polled = status
    })
    await expect
      .poll(() => {
        void gateway.credentials.revokeExternal('bot')
        return polled
      })
      .toBe(401)
  })

  it('loses open streams and long polls at once, and can sign in again', async () => {
    await start()
    const ann = as('ann')
    const id = await ann.session()
    const { interactionId } = await ann.open(id, question)
    const stream = await fetch(`${gateway.url}/api/events`, { headers: { cookie: 'product=ann' } })
    let polled = 0
    void ann.get(`/api/sessions/${id}/interactions/${interactionId}?wait=30`).then(({ status }) => {
      polled = status
    })
    await expect
      .poll(() => {
        void gateway.credentials.revokeExternal('u1')
        return polled
      })
      .toBe(401)
    expect(await stream.text()).toBe('')
    await expect.poll(async () => (await ann.get('/api/sessions')).status).toBe(200)
  })
})
