import { createDesk, createHost, Leases, memoryStore, type Fence } from '@askback/core'
import { expect, it, onTestFinished } from 'vitest'
import { OUTSIDE_AGENTS, personCredential, type AgentCredential } from '../credentials/credential.js'
import { Callers } from './access.js'

function testCallers() {
  const store = memoryStore()
  const onError = (error: unknown) => {
    throw error
  }
  const leases = new Leases({ store, onError })
  const host = createHost({ desk: createDesk({ store }), leases, onError })
  onTestFinished(async () => {
    await host.close()
    await leases.close()
  })
  return { callers: new Callers(host), host, leases }
}

it('a person is bound once for each surface', () => {
  const { callers } = testCallers()
  const ada = personCredential({ id: 'ada' }, 'http', 'key')
  const cli = callers.bind(ada, { 'askback-surface': 'cli' })
  expect(cli.desk.caller).toEqual({ id: 'person:ada', role: 'person', by: { id: 'ada' }, via: 'cli' })
  expect(callers.bind(ada, { 'askback-surface': 'cli' })).toBe(cli)
  expect(callers.bind(ada, {}).desk.caller.via).toBe('http')
  expect(() => callers.bind(ada, { 'askback-surface': 'web' })).toThrow('Askback-Surface is one of')
})

it('a page cannot name another surface', () => {
  const { callers } = testCallers()
  const page = personCredential({ id: 'ada' }, 'web', 'key')
  expect(callers.bind(page, { 'askback-surface': 'cli' }).desk.caller.via).toBe('web')
})

it('outside agents are bound once, and have no fence', () => {
  const { callers } = testCallers()
  const bound = callers.bind(OUTSIDE_AGENTS, {})
  expect(bound.desk.caller).toEqual({ id: 'agents', role: 'agent', via: 'http' })
  expect(callers.bind(OUTSIDE_AGENTS, {})).toBe(bound)
})

it('a script in the shell of an agent has the fence that its session has at that time', async () => {
  const { callers, host, leases } = testCallers()
  await host.ready
  const script: AgentCredential = { kind: 'agent', id: 'agent:s', key: 'agent:s', sessionId: 's' }
  expect(callers.bind(script, {}).desk.caller).toEqual({ id: 'agent:s', role: 'agent', via: 'http' })
  const fences: (Fence | undefined)[] = []
  for (let round = 0; round < 2; round++) {
    await leases.acquire('s')
    const { fence } = callers.bind(script, {}).desk.caller
    expect(fence).toEqual(leases.fence('s'))
    fences.push(fence)
    await leases.release('s')
  }
  expect(fences[0]).toMatchObject({ key: 'lease/s' })
  expect(fences[1]).not.toEqual(fences[0])
})
