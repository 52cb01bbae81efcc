import { expect, it } from 'vitest'
import { createDesk } from '../desk/desk.js'
import { memoryStore } from '../store/memory-store.js'
import type { AgentAdapter, AgentContext, AgentProcess, AgentEnd } from './agent.js'
import { createHost } from './host.js'

const me = { by: { id: 'me' }, via: 'direct' } as const

function scripted(reconnect?: (context: AgentContext) => Promise<AgentProcess | null>) {
  const said: string[] = []
  const contexts: AgentContext[] = []
  const process = (context: AgentContext): AgentProcess => {
    contexts.push(context)
    let end = (_: AgentEnd) => {}
    return {
      ended: new Promise<AgentEnd>((resolve) => (end = resolve)),
      send: async ({ text }) => void said.push(text),
      interrupt: async () => {},
      setPermissionMode: async () => {},
      stop: async () => end({ how: 'stopped' }),
    }
  }
  const adapter: AgentAdapter = {
    id: 'scripted',
    name: 'Scripted',
    check: async () => ({ available: true }),
    start: async (context) => process(context),
    ...(reconnect && { reconnect }),
  }
  return { adapter, process, said, contexts }
}

function unexpected(error: unknown): never {
  throw error
}

/** A session whose gateway was killed in the middle of a turn. */
async function cut() {
  const store = memoryStore()
  const agent = scripted()
  const before = createHost({ desk: createDesk({ store }), agents: [agent.adapter], onError: unexpected })
  await before.ready
  const { session } = await before.createSession({})
  await before.as(me).message({ sessionId: session.id, text: 'go' })
  await expect.poll(() => agent.said).toEqual(['go'])
  await before.close()
  const types = async () =>
    (await store.read({ sessionId: session.id, limit: 100 })).map((event) => event.type)
  return { store, sessionId: session.id, types }
}

it('[L10] an agent that outlived its gateway continues its turn, and accepts the next message', async () => {
  const { store, sessionId, types } = await cut()
  const agent = scripted((context) => Promise.resolve(agent.process(context)))
  const host = createHost({ desk: createDesk({ store }), agents: [agent.adapter], onError: unexpected })
  await host.ready
  const { turnId } = agent.contexts[0]?.resume ?? {}
  await agent.contexts[0]!.report({ type: 'text', turnId: turnId!, blockId: 'b', text: 'Still here.' })
  await host.as(me).message({ sessionId, text: 'and now', route: 'agent' })
  await expect.poll(() => agent.said).toEqual(['and now'])
  expect(agent.contexts).toHaveLength(1)
  expect(await types()).not.toContain('error')
  expect(await types()).not.toContain('turn_ended')
  await host.close()
})

it.each<[string, () => Promise<null>, unknown[]]>([
  ['is gone', () => Promise.resolve(null), []],
  ['cannot be reached', () => Promise.reject(new Error('refused')), [new Error('refused')]],
])('an agent that %s ends its turn', async (_, reconnect, problems) => {
  const { store, types, sessionId } = await cut()
  const errors: unknown[] = []
  const onError = (error: unknown) => errors.push(error)
  const host = createHost({ desk: createDesk({ store }), agents: [scripted(reconnect).adapter], onError })
  await host.ready
  expect((await types()).filter((type) => type === 'error' || type === 'turn_ended')).toEqual([
    'error',
    'turn_ended',
  ])
  // No person has interrupted it.
  const log = await store.read({ sessionId, limit: 100 })
  expect(log.find(({ type }) => type === 'turn_ended')).toMatchObject({
    reason: 'error',
    cause: 'agent_lost',
  })
  expect(errors).toEqual(problems)
  await host.close()
})
