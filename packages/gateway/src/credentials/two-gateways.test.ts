import { memoryBus, memoryStore } from '@askback/core'
import { fakeClock } from '@askback/core/testing'
import { expect, it, onTestFinished } from 'vitest'
import { createCredentials, type Credentials } from './credentials.js'

/** Two gateways on one store. Their clock does not move, so they learn from each other over the bus only. */
async function twoGateways({ bus = true } = {}): Promise<[Credentials, Credentials]> {
  const store = { ...memoryStore(), shared: true }
  const join = memoryBus()
  const clock = fakeClock()
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
