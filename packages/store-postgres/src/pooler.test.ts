import { createDesk, storeOnBus } from '@askback/core'
import { SessionScript, text } from '@askback/core/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { postgresBus, postgresStore } from './index.js'
import { startPooler, startPostgres, type PostgresServer } from './testing/index.js'

let server: PostgresServer
let pooler: Awaited<ReturnType<typeof startPooler>>
beforeAll(async () => {
  server = await startPostgres()
  pooler = await startPooler(server)
})
afterAll(async () => {
  await pooler.stop()
  await server.remove()
})

it('a store works behind a proxy that pools transactions', async () => {
  const store = await postgresStore({ url: pooler.url })
  const scripts = Array.from({ length: 50 }, (_, index) => new SessionScript(`s${index}`))
  await Promise.all(
    scripts.map(async (script) => {
      await store.append(script.start())
      for (let turn = 0; turn < 10; turn++) await store.append(script.next(text(`${turn}`)))
      expect(await store.read({ sessionId: script.sessionId, limit: 100 })).toHaveLength(11)
      await store.kv.put(script.sessionId, 1, null)
    }),
  )
  expect(await store.changes({ limit: Infinity })).toHaveLength(550)
  expect(await store.kv.list('s')).toHaveLength(50)
  await store.erase('s0')
  expect(await store.countSessions()).toBe(49)
  await store.close()
})

it('a bus needs the direct address for the connection that listens, and says so', async () => {
  await expect(postgresBus({ url: pooler.url })).rejects.toThrow(
    'passes on no notifications: give the direct address',
  )
  const [here, there] = await Promise.all(
    [1, 2].map(async () => {
      const store = await postgresStore({ url: pooler.url })
      const bus = await postgresBus({ url: pooler.url, listenUrl: server.url() })
      const desk = createDesk({ store: storeOnBus(store, bus), repairMs: 60_000 })
      await desk.ready
      const close = async () => {
        desk.close()
        await bus.close()
        await store.close()
      }
      return { desk, close }
    }),
  )
  const { session } = await here!.desk.createSession({ agent: null })
  const request = {
    questions: [{ header: 'h', question: 'q', options: [{ label: 'Yes' }], multiSelect: false }],
  }
  const { interaction } = await here!.desk.open({ sessionId: session.id, kind: 'question', request })
  const { interactionId } = interaction
  const settled = here!.desk.wait(interactionId)
  await there!.desk
    .as({ by: { id: 'ada' } })
    .respond({ interactionId, answer: { answers: [{ selected: ['Yes'] }] } })
  expect(await settled).toMatchObject({ settlement: 'answered' })
  await Promise.all([here!.close(), there!.close()])
})
