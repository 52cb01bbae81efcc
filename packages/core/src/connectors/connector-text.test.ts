import { expect, it } from 'vitest'
import { createHost } from '../agents/host.js'
import { testDesk } from '../desk/test-desk.test.helper.js'
import { memoryStore } from '../store/memory-store.js'
import { memorySurface } from '../testing/connector-memory.js'
import { connectorDesk } from './connector-desk.js'
import { runConnector } from './connector-runner.js'

it('a text for what was settled elsewhere goes nowhere, and says so once, also while its card is being closed', async () => {
  const store = memoryStore()
  const { desk, open, errors } = await testDesk({ store })
  const onError = (error: unknown) => errors.push(error)
  const host = createHost({ desk, onError })
  const surface = memorySurface()
  const connector = surface.make()
  let closing = () => {}
  const begun = new Promise<void>((resolve) => (closing = resolve))
  let goOn = () => {}
  const held = new Promise<void>((resolve) => (goOn = resolve))
  connector.close = () => {
    closing()
    return held
  }
  const running = runConnector({ connector, desk: connectorDesk(host, store), onError })
  await running.ready
  await running.line.setPlace('here', { sessions: 'all', current: 's' })
  const { interactionId } = await open('plan_review', { plan: 'A plan' })
  await expect.poll(() => surface.messages.length).toBe(1)
  await surface.tap('Adjust', 'ada')
  const answer = { decision: 'edit' }
  await desk.respond({ interactionId, answer, by: { id: 'carol', name: 'Carol' }, via: 'web' })
  await begun
  const say = (text: string) => running.line.text({ place: 'here', text, by: surface.actor('ada') })
  const told = await say('Smaller steps')
  expect(told).toMatchObject({ ok: false, text: expect.stringContaining('Your text went nowhere') as string })
  expect(told.text).toContain('Approved by Carol')
  goOn()
  await expect.poll(() => store.kv.list('connector/memory/card/')).toEqual([])
  expect(await say('Hello agent')).toMatchObject({ ok: true })
  await running.stop()
  expect(errors).toEqual([])
})

it('a text for the agent is no answer to what came meanwhile', async () => {
  const store = memoryStore()
  const { desk, open, errors } = await testDesk({ store })
  const onError = (error: unknown) => errors.push(error)
  const host = createHost({ desk, onError })
  const surface = memorySurface()
  const running = runConnector({ connector: surface.make(), desk: connectorDesk(host, store), onError })
  await running.ready
  await running.line.setPlace('here', { sessions: 'all', current: 's' })
  const { interactionId } = await open('question', {
    questions: [{ question: 'Which branch?', options: [] }],
  })
  const text = 'please stop everything'
  const told = await running.line.text({ place: 'here', text, by: surface.actor('ada'), route: 'agent' })
  expect(told).toMatchObject({ ok: true, text: expect.stringContaining('Sent to the agent') as string })
  expect((await desk.interaction('s', interactionId)).status).toBe('pending')
  await running.stop()
  expect(errors).toEqual([])
})
