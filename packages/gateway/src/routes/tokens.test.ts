import type { Interaction } from '@askback/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
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

it('gives each person a token of their own, so that answers carry their name', async () => {
  const grace = new Api(gateway, await tokenFor('Grace Hopper'))
  const item = await grace.open(await grace.session(), question)
  const path = `/api/sessions/${item.sessionId}/interactions/${item.interactionId}/response`
  const settled = await grace.post<{ interaction: Interaction }>(path, sqlite)
  expect(settled.body.interaction.by).toEqual({ id: 'Grace Hopper', name: 'Grace Hopper' })
})

it('lists people without their tokens, and keeps hashes only', async () => {
  const token = await tokenFor('grace')
  const listed = await person.get<{ tokens: { name: string }[] }>('/api/tokens')
  expect(listed.body.tokens.map(({ name }) => name)).toEqual(['owner', 'grace'])
  expect(JSON.stringify(listed.body)).not.toContain(token)
  for (const entry of await gateway.store.kv.list('')) expect(JSON.stringify(entry)).not.toContain(token)
})

it('survives a restart', async () => {
  const token = await tokenFor('grace')
  const again = await startTestGateway({ listen: false, store: gateway.store })
  expect((await new Api(again, token).get('/api/sessions')).status).toBe(200)
})

it('revokes all tokens of a person and their logins, and nobody else’s', async () => {
  const [one, two, other] = [await tokenFor('grace'), await tokenFor('grace'), await tokenFor('bob')]
  const code = gateway.credentials.loginCode({ id: 'grace' })
  const login = await signIn(gateway, code)
  const unused = gateway.credentials.loginCode({ id: 'grace' })
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

  it.each(['Grace', 'grаce', 'GRACE'])('%s is refused where grace exists', async (name) => {
    expect((await create('grace')).status).toBe(201)
    const refused = await create(name)
    expect(refused.status).toBe(400)
    expect(JSON.stringify(refused.body)).toContain('looks like')
  })

  it.each(['Owner', '0wner', 'Ada', 'аda'])('%s would be taken for the first person', async (name) => {
    expect((await create(name)).status).toBe(400)
  })

  it('is never given to another person, nor after a restart', async () => {
    await create('grace')
    await person.delete('/api/tokens/grace')
    const refused = await create('grace')
    expect(refused.status).toBe(400)
    expect(JSON.stringify(refused.body)).toContain('revoked')
    const again = await startTestGateway({ store: gateway.store, listen: false })
    expect((await new Api(again).post('/api/tokens', { person: 'Grace' })).status).toBe(400)
  })

  it('gets another token from the first person or its own, and from nobody else', async () => {
    const grace = new Api(gateway, await tokenFor('grace'))
    const bob = new Api(gateway, await tokenFor('bob'))
    expect((await create('grace', grace)).status).toBe(201)
    expect((await create('grace', bob)).status).toBe(403)
  })
})
