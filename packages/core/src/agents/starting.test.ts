import { describe, expect, it } from 'vitest'
import { createDesk } from '../desk/desk.js'
import { memoryStore } from '../store/memory-store.js'
import type { AgentAdapter, AgentProcess, AgentEnd } from './agent.js'
import { createHost } from './host.js'

const me = { by: { id: 'me' }, via: 'direct' } as const

/** An agent whose program hangs until the test releases it, or until its start is aborted. */
async function slowAgent() {
  const starts: { signal: AbortSignal; go: () => void }[] = []
  const received: string[] = []
  const process = (): AgentProcess => {
    let end = (_: AgentEnd) => {}
    return {
      ended: new Promise<AgentEnd>((resolve) => (end = resolve)),
      send: async ({ text }) => void received.push(text),
      interrupt: async () => void received.push('interrupt'),
      setPermissionMode: async (mode) => void received.push(mode),
      stop: async () => {
        received.push('stop')
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
  return { host, sessionId, starts, received, errors, say, ends }
}

describe('an agent that hangs while it starts', () => {
  it.each(['interrupt', 'clear'] as const)('is abandoned by %s, and started again', async (how) => {
    const { host, sessionId, starts, received, errors, say, ends } = await slowAgent()
    await say('go')
    await host.as(me)[how](sessionId)
    expect(starts[0]!.signal.aborted).toBe(true)
    expect(await ends()).toMatchObject([{ type: 'turn_ended', reason: 'interrupted' }])
    await say('again')
    starts[1]!.go()
    await expect.poll(() => received).toEqual(['again'])
    await host.close()
    expect(errors).toEqual([])
  })

  it('does not prevent the deletion of its session', async () => {
    const { host, sessionId, starts, errors, say } = await slowAgent()
    await say('go')
    await host.as(me).deleteSession(sessionId)
    expect(starts[0]!.signal.aborted).toBe(true)
    await host.close()
    expect(errors).toEqual([])
  })

  it('does not prevent its gateway from stopping, and the next one continues its turn', async () => {
    const { host, starts, errors, say, ends } = await slowAgent()
    await say('go')
    await host.close()
    expect(starts[0]!.signal.aborted).toBe(true)
    expect(await ends()).toEqual([])
    expect(errors).toEqual([])
  })

  it('gets a changed permission mode once it has started, before its message', async () => {
    const { host, sessionId, starts, received, say } = await slowAgent()
    await say('go')
    await host.setPermissionMode(sessionId, 'acceptEdits')
    expect(received).toEqual([])
    starts[0]!.go()
    await expect.poll(() => received).toEqual(['acceptEdits', 'go'])
    expect(starts[0]!.signal.aborted).toBe(false)
    await host.close()
  })

  it('is stopped if it starts at the moment that it is abandoned', async () => {
    const { host, sessionId, starts, received, say, ends } = await slowAgent()
    await say('go')
    starts[0]!.go()
    await host.as(me).interrupt(sessionId)
    expect(received.includes('go')).toBe(received.includes('interrupt'))
    expect(await ends()).toMatchObject([{ type: 'turn_ended', reason: 'interrupted' }])
    await host.close()
  })
})
