import { memoryStore, type Store } from '@askback/core'
import { fakeClock, type FakeClock } from '@askback/core/testing'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { createCredentials, type Credentials } from './credentials.js'

const DAY_MS = 24 * 3_600_000

let store: Store
let clock: FakeClock
beforeEach(() => {
  store = { ...memoryStore(), shared: true }
  clock = fakeClock()
})

/** The credentials of one gateway on the shared store. */
async function gateway(id: string, sharesTokens = true): Promise<Credentials> {
  const credentials = await createCredentials({
    store,
    clock,
    owner: { name: 'Ada', tokens: [`person-${id}`] },
    agentToken: `agent-${id}`,
    gateway: { id, sharesTokens },
    onError: (error) => expect.unreachable(String(error)),
  })
  onTestFinished(() => credentials.close())
  return credentials
}

it('are accepted by every gateway on the store', async () => {
  const [a, b] = [await gateway('a'), await gateway('b')]
  await a.refresh()
  for (const [credentials, other] of [
    [a, 'b'],
    [b, 'a'],
  ] as const) {
    expect(credentials.findToken(`person-${other}`)).toMatchObject({ kind: 'person', by: { id: 'owner' } })
    expect(credentials.findToken(`agent-${other}`)).toMatchObject({ kind: 'agent' })
    expect(credentials.findToken('person-c')).toBeNull()
  }
})

it('are stored as hashes only', async () => {
  await gateway('a')
  const text = JSON.stringify(await store.kv.list(''))
  expect(text).toContain('credential/gateway/a')
  expect(text).not.toMatch(/person-a|agent-a/)
})

it('are accepted by no other gateway if the operator set them', async () => {
  await gateway('a')
  const a = await gateway('a', false)
  const b = await gateway('b')
  expect(b.findToken('person-a')).toBeNull()
  expect(a.findToken('person-a')).not.toBeNull()
})

it('expire thirty days after their gateway stopped', async () => {
  const a = await gateway('a')
  const b = await gateway('b')
  a.close()
  clock.jump(30 * DAY_MS - 1)
  await b.refresh()
  expect(b.findToken('person-a')).not.toBeNull()
  clock.jump(1)
  await b.refresh()
  expect(b.findToken('person-a')).toBeNull()
  expect(b.findToken('agent-a')).toBeNull()
})

it('are renewed for as long as their gateway runs', async () => {
  const a = await gateway('a')
  for (let day = 0; day < 40; day++) {
    clock.jump(DAY_MS)
    await a.refresh()
  }
  const b = await gateway('b')
  expect(b.findToken('person-a')).not.toBeNull()
})
