import { expect, it } from 'vitest'
import { createDesk, memoryStore, type Store } from '../index.js'
import { fakeClock } from '../testing/fake-clock.js'
import { tick } from './test-desk.test.helper.js'

/** A desk on a store where another gateway locks a session and never releases it. */
async function lockedOut() {
  const inner: Store = { ...memoryStore(), shared: true }
  const clock = fakeClock()
  const state = { isLocked: false }
  const store: Store = {
    ...inner,
    append: (append) =>
      state.isLocked ? Promise.resolve({ ok: false, conflict: 'locked' }) : inner.append(append),
    locks: { acquire: async () => !state.isLocked, release: async () => undefined },
  }
  const desk = createDesk({ store, clock })
  await desk.ready
  await desk.createSession({ id: 's' })
  const report = (text: string) =>
    desk.report({ sessionId: 's', events: [{ type: 'text', blockId: text, text }] })
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 50) {
      clock.advance(50)
      for (let turn = 0; turn < 3; turn++) await tick()
    }
  }
  return { desk, state, report, pass }
}

it('a command that queues behind a locked one fails in time, too', async () => {
  const { state, report, pass } = await lockedOut()
  state.isLocked = true
  const ended: string[] = []
  const note = (name: string) => report(name).catch(() => ended.push(name))
  void note('one')
  await pass(4000)
  void note('two')
  await pass(500)
  void note('three')
  await pass(6000)
  expect(ended).toEqual(['one', 'two', 'three'])
})
