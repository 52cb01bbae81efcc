import { createDesk, createHost, memoryStore } from '@askback/core'
import { fakeClock } from '@askback/core/testing'
import type { EventOf, EventType } from '@askback/protocol'
import { expect, it } from 'vitest'
import { demoAgent } from './index.js'

const me = { by: { id: 'me' }, via: 'direct' } as const
const text = 'One two three four five.'

/** An agent in the middle of a sentence. */
async function speaking() {
  const store = memoryStore()
  const clock = fakeClock()
  const adapter = demoAgent({ script: { turns: [{ steps: [{ do: 'say', text }] }] }, clock, pace: 30 })
  const host = createHost({
    desk: createDesk({ store }),
    agents: [adapter],
    onError: (error) => expect(error).toBeUndefined(),
  })
  await host.ready
  const sessionId = (await host.createSession({})).session.id
  const say = () => host.message({ sessionId, text: 'hello', ...me })
  const of = async <Type extends EventType>(type: Type) =>
    (await store.read({ sessionId, limit: 100 })).filter(
      (event): event is EventOf<Type> => event.type === type,
    )
  /** Lets time pass until it holds. */
  const until = (check: () => unknown) => {
    const look = () => {
      clock.advance(30)
      return check()
    }
    return expect.poll(look).toBeTruthy()
  }
  await say()
  await until(() => host.liveBlocks(sessionId).length > 0)
  return { host, sessionId, say, of, until }
}

it('an interrupt keeps what was said until then, in its turn', async () => {
  const { host, sessionId, of } = await speaking()
  const [said] = host.liveBlocks(sessionId)
  await host.interrupt(sessionId, me)
  const [ended] = await of('turn_ended')
  expect(ended).toMatchObject({ reason: 'interrupted' })
  expect(await of('text')).toMatchObject([
    { text: (said as { text: string }).text, partial: true, turnId: ended!.turnId },
  ])
  await host.close()
})

it('a message that meets an interrupt begins a turn of its own, which is not interrupted', async () => {
  const { host, sessionId, say, of, until } = await speaking()
  // In the moment that the log has the end of the first, which is before the agent knows that it has.
  const off = host.desk.on(({ events }) => {
    if (!events.some(({ type }) => type === 'turn_ended')) return
    off()
    void say()
  })
  await host.interrupt(sessionId, me)
  await until(async () => (await of('turn_ended')).length === 2)
  const [first, second] = await of('turn_started')
  expect(await of('turn_ended')).toMatchObject([
    { turnId: first!.turnId, reason: 'interrupted' },
    { turnId: second!.turnId, reason: 'done' },
  ])
  expect(await of('text')).toMatchObject([
    { turnId: first!.turnId, partial: true },
    { turnId: second!.turnId, text },
  ])
  await host.close()
})
