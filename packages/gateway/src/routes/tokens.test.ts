import type { Interaction } from '@askback/protocol'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Api, question, signIn, sqlite, startTestGateway, type TestGateway } from '../testing/index.js'

let gateway: TestGateway
let person: Api
beforeEach(async () => {
  gateway = await startTestGateway({ listen: false })
  person = new Api(gateway)
})
afterEach(() => gateway.close())

async function tokenFor(name: string): Promise<string> {
  const made = await person.post<{ token: string }>('/api/tokens', { person: name })
  expect(made.status).toBe(201)
  return made.body.token
}

it('gives each person their own token, so that answers have their name', async () => {
  const grace = new Api(gateway, await tokenFor('Grace Hopper'))
  const item = await grace.open(await grace.session(), question)
  const path = `/api/sessions/${item.sessionId}/interactions/${item.interactionId}/response`
  const settled = await grace.post<{ interaction: Interaction }>(path, sqlite)
  expect(settled.body.interaction.by).toEqual({ id: 'Grace Hopper', name: 'Grace Hopper' })
})

it('lists people without their tokens, and stores hashes only', async () => {
  const token = await tokenFor('grace')
  const listed = await person.get<{ tokens: { name: string }[] }>('/api/tokens')
  expect(listed.body.tokens.map(({ name }) => name)).toEqual(['owner', 'grace'])
  expect(JSON.stringify(listed.body)).not.toContain(token)
  for (const entry of await gateway.store.kv.list('')) expect(JSON.stringify(entry)).not.toContain(token)
})

it('a token survives a restart', async () => {
  const token = await tokenFor('grace')
  const again = await startTestGateway({ listen: false, store: gateway.store })
  expect((await new Api(again, token).get('/api/sessions')).status).toBe(200)
})

it('revokes all tokens of a person and their logins, and nobody else’s', async () => {
  const [one, two, other] = [await tokenFor('grace'), await tokenFor('grace'), await tokenFor('bob')]
  const code = gateway.credentials.createLoginCode({ id: 'grace' })
  const login = await signIn(gateway, code)
  const unused = gateway.credentials.createLoginCode({ id: 'grace' })
  const revoked: string[] = []
  gateway.credentials.onRevoked((key) => revoked.push(key))
  expect((await person.delete('/api/tokens/grace')).status).toBe(200)
  for (const token of [one, two])
    expect((await new Api(gateway, token).get('/api/sessions')).status).toBe(401)
  expect((await new Api(gateway, null, { ...login }).get('/api/sessions')).status).toBe(401)
  expect((await new Api(gateway, null).post('/api/login', { code: unused })).status).toBe(401)
  expect((await new Api(gateway, other).get('/api/sessions')).status).toBe(200)
  expect(revoked).toHaveLength(3)
  expect((await person.delete('/api/tokens/grace')).status).toBe(404)
})

it('revokes a person whose record is written at the same moment', async () => {
  await tokenFor('grace')
  const { kv } = gateway.store
  const read = kv.get.bind(kv)
  vi.spyOn(kv, 'get').mockImplementationOnce(async (key) => {
    const entry = await read(key)
    expect(entry).toMatchObject({ value: { name: 'grace' } })
    await kv.put(key, entry!.value, entry!.version)
    return entry
  })
  expect((await person.delete('/api/tokens/grace')).status).toBe(200)
  // The person's record stays after the tokens are deleted: the name is still reserved after a restart.
  const again = await startTestGateway({ listen: false, store: gateway.store })
  expect((await new Api(again).post('/api/tokens', { person: 'grace' })).status).toBe(400)
})

describe('a person who was revoked by a process that stopped halfway', () => {
  /** Does only the first write of a revocation: the tokens and logins are still in the store. */
  async function revokeHalfway(name: string): Promise<void> {
    const { kv } = gateway.store
    const entries = await kv.list('credential/person/')
    const { key, version } = entries.find((entry) => JSON.stringify(entry.value).includes(name))!
    expect(await kv.put(key, { name, at: 0, revokedAt: 1 }, version)).toBe(true)
  }

  it('has no valid token or login after the restart, and can be revoked again', async () => {
    const [token, other] = [await tokenFor('grace'), await tokenFor('bob')]
    const login = await signIn(gateway, gateway.credentials.createLoginCode({ id: 'grace' }))
    await revokeHalfway('grace')
    const again = await startTestGateway({ listen: false, store: gateway.store })
    expect((await new Api(again, token).get('/api/sessions')).status).toBe(401)
    expect((await new Api(again, null, { ...login }).get('/api/sessions')).status).toBe(401)
    expect((await new Api(again, other).get('/api/sessions')).status).toBe(200)
    const { body } = await new Api(again).get<{ tokens: { name: string }[] }>('/api/tokens')
    expect(body.tokens.map(({ name }) => name)).toEqual(['owner', 'bob'])
    expect((await new Api(again).delete('/api/tokens/grace')).status).toBe(200)
    await again.close()
  })

  it('has no stream and no token left on a gateway that learns of it', async () => {
    const token = await tokenFor('grace')
    const revoked: string[] = []
    gateway.credentials.onRevoked((key) => revoked.push(key))
    await revokeHalfway('grace')
    expect((await person.post('/api/tokens', { person: 'grace' })).status).toBe(400)
    await gateway.credentials.refresh()
    expect(revoked).toHaveLength(1)
    expect((await new Api(gateway, token).get('/api/sessions')).status).toBe(401)
    expect(await gateway.store.kv.list('credential/token/')).toEqual([])
  })

  it('cannot log in with a link from before the revocation', async () => {
    await tokenFor('grace')
    const code = gateway.credentials.createLoginCode({ id: 'grace' })
    await revokeHalfway('grace')
    expect((await new Api(gateway, null).post('/api/login', { code })).status).toBe(401)
  })
})

it.each(['', ' ', 'owner', 'a'.repeat(101), 'a/b', 'a\nb', '../x', '<b>'])(
  'makes no token for %j',
  async (name) => {
    expect((await person.post('/api/tokens', { person: name })).status).toBe(400)
  },
)

it('does not revoke the first person', async () => {
  expect((await person.delete('/api/tokens/owner')).status).toBe(400)
})

describe('the name of a person', () => {
  const create = (name: string, as = person) => as.post<{ person: string }>('/api/tokens', { person: name })

  it.each([
    'policy',
    'Askback',
    'system',
    'agent',
    'Agents',
    'telegram',
    'terminal',
    'web',
    'HTTP',
    'cli',
    'mcp',
    'dіrect',
  ])('cannot be %s, which Askback uses itself', async (name) => {
    const refused = await create(name)
    expect(refused.status).toBe(400)
    expect(JSON.stringify(refused.body)).toContain('Choose another name')
  })

  it('stays reserved or revoked even if its record is from when fewer names counted as alike', async () => {
    const { kv } = gateway.store
    await kv.put('credential/person/josé', { name: 'José', at: 0, revokedAt: 1 }, null)
    await kv.put('credential/person/zoë', { name: 'Zoë', at: 0 }, null)
    await gateway.credentials.refresh()
    expect((await create('José')).status).toBe(400)
    expect((await create('Jose')).status).toBe(400)
    expect((await create('Zoe')).status).toBe(400)
    expect((await create('Zoë')).status).toBe(201)
    expect((await person.delete(`/api/tokens/${encodeURIComponent('Zoë')}`)).status).toBe(200)
    expect((await create('Zoë')).status).toBe(400)
  })

  it('is normalised', async () => {
    const made = await create('  Ｇｒａｃｅ   Hopper ')
    expect([made.status, made.body.person]).toEqual([201, 'Grace Hopper'])
    const { body } = await person.get<{ tokens: { name: string }[] }>('/api/tokens')
    expect(body.tokens.map(({ name }) => name)).toEqual(['owner', 'Grace Hopper'])
    expect((await person.delete(`/api/tokens/${encodeURIComponent('Ｇｒａｃｅ Hopper')}`)).status).toBe(200)
  })

  it.each(['gr\u200bace', 'ㅤ', 'a\u3164b', 'a\u202eb', 'a\u00adb', 'a\u0007b'])(
    'has no invisible character, as %j has',
    async (name) => expect((await create(name)).status).toBe(400),
  )

  it.each(['Grace', 'grаce', 'GRACE'])('%s is refused if grace exists', async (name) => {
    expect((await create('grace')).status).toBe(201)
    const refused = await create(name)
    expect(refused.status).toBe(400)
    expect(JSON.stringify(refused.body)).toContain('looks like')
  })

  it.each(['Owner', '0wner', 'Ada', 'аda'])(
    '%s is refused, because it looks like the first person',
    async (name) => {
      expect((await create(name)).status).toBe(400)
    },
  )

  it('is never given to another person, even after a restart', async () => {
    await create('grace')
    await person.delete('/api/tokens/grace')
    const refused = await create('grace')
    expect(refused.status).toBe(400)
    expect(JSON.stringify(refused.body)).toContain('revoked')
    const again = await startTestGateway({ store: gateway.store, listen: false })
    expect((await new Api(again).post('/api/tokens', { person: 'Grace' })).status).toBe(400)
  })

  it('gets another token from the first person or that person only', async () => {
    const grace = new Api(gateway, await tokenFor('grace'))
    const bob = new Api(gateway, await tokenFor('bob'))
    expect((await create('grace', grace)).status).toBe(201)
    expect((await create('grace', bob)).status).toBe(403)
  })
})
