import { describe, expect, it } from 'vitest'
import { createDesk } from '../desk/desk.js'
import { memoryStore } from '../store/memory-store.js'
import type { AgentAdapter, AgentProcess, AgentEnd } from './agent.js'
import { createHost } from './host.js'

const me = { by: { id: 'me' }, via: 'direct' } as const

/** An agent whose program hangs until the test lets it go, or nobody wants it any more. */
async function slowAgent() {
  const starts: { signal: AbortSignal; go: () => void }[] = []
  const told: string[] = []
  const process = (): AgentProcess => {
    let end = (_: AgentEnd) => {}
    return {
      ended: new Promise<AgentEnd>((resolve) => (end = resolve)),
      send: async ({ text }) => void told.push(text),
      interrupt: async () => void told.push('interrupt'),
      setPermissionMode: async (mode) => void told.push(mode),
      stop: async () => {
        told.push('stop')
        end({ how: 'stopped' })
      },
    }
  }
  const adapter: AgentAdapter = {
    id: 'slow',
    name: 'Slow',
    check: async () => ({ available: true }),
    start: (_context, signal) =>
      new Promise((resolve, reject) => {
        starts.push({ signal, go: () => resolve(process()) })
        signal.addEventListener('abort', () => reject(new Error('Given up.')))
      }),
  }
  const store = memoryStore()
  const errors: unknown[] = []
  const host = createHost({
    desk: createDesk({ store }),
    agents: [adapter],
    onError: (error) => errors.push(error),
  })
  await host.ready
  const { session } = await host.createSession({})
  const sessionId = session.id
  const say = async (text: string) => {
    const before = starts.length
    await host.as(me).message({ sessionId, text })
    await expect.poll(() => starts.length).toBe(before + 1)
  }
  const ends = async () =>
    (await store.read({ sessionId, limit: 100 })).filter(({ type }) => /error|turn_ended/.test(type))
  return { host, sessionId, starts, told, errors, say, ends }
}

describe('an agent that hangs while it starts', () => {
  it.each(['interrupt', 'clear'] as const)('is given up by %s, and started anew', async (how) => {
    const { host, sessionId, starts, told, errors, say, ends } = await slowAgent()
    await say('go')
    await host.as(me)[how](sessionId)
    expect(starts[0]!.signal.aborted).toBe(true)
    expect(await ends()).toMatchObject([{ type: 'turn_ended', reason: 'interrupted' }])
    await say('again')
    starts[1]!.go()
    await expect.poll(() => told).toEqual(['again'])
    await host.close()
    expect(errors).toEqual([])
  })

  it('does not keep its session from being deleted', async () => {
    const { host, sessionId, starts, errors, say } = await slowAgent()
    await say('go')
    await host.as(me).deleteSession(sessionId)
    expect(starts[0]!.signal.aborted).toBe(true)
    await host.close()
    expect(errors).toEqual([])
  })

  it('does not keep its gateway from stopping, and its turn is taken up by the next one', async () => {
    const { host, starts, errors, say, ends } = await slowAgent()
    await say('go')
    await host.close()
    expect(starts[0]!.signal.aborted).toBe(true)
    expect(await ends()).toEqual([])
    expect(errors).toEqual([])
  })

  it('is told of another permission mode once it has started, before its message', async () => {
    const { host, sessionId, starts, told, say } = await slowAgent()
    await say('go')
    await host.setPermissionMode(sessionId, 'acceptEdits')
    expect(told).toEqual([])
    starts[0]!.go()
    await expect.poll(() => told).toEqual(['acceptEdits', 'go'])
    expect(starts[0]!.signal.aborted).toBe(false)
    await host.close()
  })

  it('is stopped if it starts in the moment that it is given up', async () => {
    const { host, sessionId, starts, told, say, ends } = await slowAgent()
    await say('go')
    starts[0]!.go()
    await host.as(me).interrupt(sessionId)
    expect(told.includes('go')).toBe(told.includes('interrupt'))
    expect(await ends()).toMatchObject([{ type: 'turn_ended', reason: 'interrupted' }])
    await host.close()
  })
})
