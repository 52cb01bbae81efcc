import { memoryBus, memoryStore } from '@askback/core'
import { fakeClock } from '@askback/core/testing'
import { expect, it, onTestFinished } from 'vitest'
import { externalKey } from '../access/external-login.js'
import type { PersonCredential } from './credential.js'
import { createCredentials, type Credentials } from './credentials.js'

/** Two gateways on one store. Their clock does not move, so they learn from each other over the bus only. */
async function twoGateways({ bus = true, clock = fakeClock() } = {}): Promise<[Credentials, Credentials]> {
  const store = { ...memoryStore(), shared: true }
  const join = memoryBus()
  const create = (id: string) =>
    createCredentials({
      store,
      clock,
      ...(bus && { bus: join() }),
      owner: { name: 'Ada', tokens: [`person-${id}`] },
      agentToken: `agent-${id}`,
      gateway: { id, sharesTokens: true },
      onError: (error) => expect.unreachable(String(error)),
    })
  const both: [Credentials, Credentials] = [await create('a'), await create('b')]
  onTestFinished(() => both.forEach((credentials) => credentials.close()))
  return both
}

it('a token that one gateway creates is valid on the other at once, until it is revoked', async () => {
  const [here, there] = await twoGateways()
  const token = here.createToken()
  await here.addToken('grace', token)
  await expect.poll(() => there.findToken(token)).toMatchObject({ by: { id: 'grace' } })
  const revoked: string[] = []
  there.onRevoked((key) => revoked.push(key))
  const { key } = there.findToken(token) as { key: string }
  await here.revoke('grace')
  await expect.poll(() => revoked).toContain(key)
  expect(there.findToken(token)).toBeNull()
})

it('a browser that logs in at one gateway is logged in at the other at once, until it logs out', async () => {
  const [here, there] = await twoGateways()
  const { cookie } = (await here.logins.logIn(here.createLoginCode(here.owner)))!
  await expect.poll(() => there.logins.find(cookie)).toMatchObject({ by: { id: 'owner' } })
  await here.logins.logOut(here.logins.find(cookie)!)
  await expect.poll(() => there.logins.find(cookie)).toBeNull()
})

it('a person who is revoked at one gateway may act at no other, even if the message is lost', async () => {
  const [here, there] = await twoGateways({ bus: false })
  const token = here.createToken()
  await here.addToken('grace', token)
  await there.refresh()
  expect(await there.mayAct('grace')).toBe(true)
  await here.revoke('grace')
  expect(await there.mayAct('grace')).toBe(false)
})

/** An actor whom the embedding program signed in at this time. */
function signedIn(id: string, at: number): PersonCredential {
  const key = externalKey(id)
  return {
    kind: 'person',
    id: key,
    key,
    by: { id },
    via: 'http',
    external: { actor: { id, role: 'person' }, at },
  }
}

it('an actor of the embedder who is revoked at one gateway has no stream at the other, and can sign in again', async () => {
  const clock = fakeClock()
  const [here, there] = await twoGateways({ clock })
  const before = clock.now()
  const revoked: string[] = []
  there.onRevoked((key) => revoked.push(key))
  for (const id of ['ann', '__proto__', 'a/b\u0000']) {
    await here.revokeExternal(id)
    await expect.poll(() => revoked).toContain(externalKey(id))
    expect(there.isCurrent(signedIn(id, before))).toBe(false)
    expect(there.isCurrent(signedIn(id, before + 1))).toBe(true)
  }
  await there.refresh()
  expect(revoked).toHaveLength(3)
  expect(there.isCurrent(signedIn('anna', before))).toBe(true)
  clock.advance(5)
  await here.revokeExternal('ann')
  await expect.poll(() => revoked).toHaveLength(4)
  expect(there.isCurrent(signedIn('ann', before + 1))).toBe(false)
})

it('an actor of the embedder may act at no gateway after they were revoked, even if the message is lost', async () => {
  const clock = fakeClock()
  const [here, there] = await twoGateways({ bus: false, clock })
  const ann = signedIn('ann', clock.now())
  expect(await there.isCurrentInStore(ann)).toBe(true)
  await here.revokeExternal('ann')
  expect(there.isCurrent(ann)).toBe(true)
  expect(await there.isCurrentInStore(ann)).toBe(false)
  await there.refresh()
  expect(there.isCurrent(ann)).toBe(false)
})

it('the revocation of an actor of the embedder is forgotten after a day', async () => {
  const clock = fakeClock()
  const [here, there] = await twoGateways({ bus: false, clock })
  const ann = signedIn('ann', clock.now())
  await here.revokeExternal('ann')
  clock.advance(24 * 3_600_000 + 10)
  await here.refresh()
  await there.refresh()
  expect(await there.isCurrentInStore(ann)).toBe(true)
})
