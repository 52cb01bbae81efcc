import { expect, it } from 'vitest'
import { memoryStore } from '../store/memory-store.js'
import type { Store } from '../store/store.js'
import { fakeClock } from '../testing/fake-clock.js'
import { createDesk } from './desk.js'
import { ada, database, sqlite } from './test-desk.test.helper.js'

const SESSION = 's'

/** A store with latency, as one on a disk or behind a network has. */
function slow(inner: Store, shared: boolean): Store {
  const later = async <Result>(call: () => Promise<Result>) => {
    await new Promise((resolve) => setImmediate(resolve))
    return call()
  }
  return {
    ...inner,
    append: (append) => later(() => inner.append(append)),
    read: (query) => later(() => inner.read(query)),
    interaction: (id) => later(() => inner.interaction(id)),
    interactionsOf: (...call) => later(() => inner.interactionsOf(...call)),
    toolCall: (...call) => later(() => inner.toolCall(...call)),
    ...(shared && { shared }),
  }
}

/** A session with a question that was settled so many turns ago, to which an agent writes without a pause. */
async function busy({ turns = 0, shared = false }) {
  const desk = createDesk({ store: slow(memoryStore(), shared) })
  await desk.ready
  await desk.createSession({ id: SESSION, agent: 'demo' })
  await desk.report({
    sessionId: SESSION,
    events: [
      { type: 'turn_started', turnId: 't0' },
      { type: 'tool_call', toolCallId: 'c0', toolName: 'Bash', input: {} },
    ],
  })
  const request = { kind: 'question', request: database, toolCallId: 'c0', attach: true } as const
  const { interactionId } = (await desk.open({ sessionId: SESSION, ...request })).interaction
  await desk.as(ada).respond({ sessionId: SESSION, interactionId, answer: sqlite })
  for (let turn = 1; turn <= turns; turn++)
    await desk.report({
      sessionId: SESSION,
      events: [
        { type: 'turn_ended', turnId: `t${turn - 1}`, reason: 'done' },
        { type: 'turn_started', turnId: `t${turn}` },
      ],
    })
  const over = new AbortController()
  let written = 0
  const writing = (async () => {
    for (; !over.signal.aborted; written++) {
      const text = { type: 'text', blockId: `b${written}`, text: 'On and on.' } as const
      await desk.report({ sessionId: SESSION, events: [text] })
    }
  })()
  return {
    desk,
    interactionId,
    attach: () => desk.open({ sessionId: SESSION, ...request }),
    answer: (id = interactionId) =>
      desk.as(ada).respond({ sessionId: SESSION, interactionId: id, answer: sqlite }),
    end: async () => {
      over.abort()
      await writing
      desk.close()
      expect(written).toBeGreaterThan(0)
    },
  }
}

it.each([
  ['in the window', { shared: true }],
  ['beyond the window', { turns: 30 }],
  ['beyond the window, where others write, too', { turns: 30, shared: true }],
])('an agent that writes without a pause does not starve other commands: %s', async (_, options) => {
  const { desk, interactionId, attach, answer, end } = await busy(options)
  // [L3] The second answer gets the winner.
  await expect(answer()).rejects.toMatchObject({ code: 'already_settled' })
  await expect(answer('nobody')).rejects.toMatchObject({ code: 'not_found' })
  // [L11]
  expect((await attach()).interaction.interactionId).toBe(interactionId)
  // [L10]
  expect(await desk.wait(interactionId, { sessionId: SESSION })).toMatchObject({
    settlement: 'answered',
  })
  await desk.setPermissionMode(SESSION, 'default')
  const result = { type: 'tool_result', toolCallId: 'c0', output: 'Done.', isError: false } as const
  expect(await desk.report({ sessionId: SESSION, events: [result] })).toHaveLength(1)
  await end()
})

/** Two desks on one store; each call of the second takes `latency` iterations of the event loop. */
async function slowAndFast(latency: number) {
  const base = memoryStore()
  const wait = async (turns: number) => {
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  const make = (turns: number) => {
    const later = async <Result>(call: () => Promise<Result>) => {
      await wait(turns)
      const result = await call()
      await wait(turns)
      return result
    }
    const store: Store = {
      ...base,
      shared: true,
      append: (append) => later(() => base.append(append)),
      read: (query) => later(() => base.read(query)),
      loadSnapshot: (id) => later(() => base.loadSnapshot(id)),
      locks: {
        acquire: (...call) => later(() => base.locks!.acquire(...call)),
        release: (...call) => later(() => base.locks!.release(...call)),
      },
    }
    return createDesk({ store })
  }
  const [fast, slow] = [make(1), make(latency)]
  await Promise.all([fast.ready, slow.ready])
  await fast.createSession({ id: SESSION, agent: 'demo' })
  await slow.snapshot(SESSION)
  return { fast, slow }
}

it('a slow gateway is not starved by a fast one that writes without a pause', async () => {
  const { fast, slow } = await slowAndFast(20)
  const over = new AbortController()
  let written = 0
  const busy = Array.from({ length: 4 }, async () => {
    while (!over.signal.aborted) {
      const text = { type: 'text', blockId: `b${written++}`, text: 'On and on.' } as const
      await fast.report({ sessionId: SESSION, events: [text] })
    }
  })
  for (let count = 0; count < 3; count++)
    await slow.as(ada).message({ sessionId: SESSION, text: 'let me in', route: 'agent' })
  over.abort()
  await Promise.all(busy)
  expect(written).toBeGreaterThan(10)
  for (const desk of [fast, slow]) desk.close()
})

it('a command that cannot get its turn fails after a timeout, and may be retried', async () => {
  const clock = fakeClock()
  const base = memoryStore()
  let isOvertaken = false
  const { locks: _, ...rest } = base
  const store: Store = {
    ...rest,
    shared: true,
    append: (append) => {
      if (!isOvertaken) return base.append(append)
      clock.advance(400)
      return Promise.resolve({ ok: false, conflict: 'seq' })
    },
  }
  const desk = createDesk({ store, clock })
  await desk.createSession({ id: SESSION })
  isOvertaken = true
  const sent = desk.as(ada).message({ sessionId: SESSION, text: 'x', route: 'agent' })
  await expect(sent).rejects.toMatchObject({ code: 'unavailable' })
  expect(clock.now() - fakeClock().now()).toBeLessThan(7000)
  desk.close()
})

it('an answer to an interaction that another gateway has just opened is appended without a conflict', async () => {
  const base = memoryStore()
  const results: string[] = []
  const append: Store['append'] = async (appended) => {
    const result = await base.append(appended)
    results.push(result.ok ? 'ok' : result.conflict)
    return result
  }
  const here = createDesk({ store: { ...base, shared: true } })
  // Its doorbells are lost, so it does not know of the interaction.
  const there = createDesk({ store: { ...base, shared: true, append, onAppend: () => () => undefined } })
  await Promise.all([here.ready, there.ready])
  await here.createSession({ id: SESSION, agent: 'demo' })
  for (let turn = 0; turn < 30; turn++)
    await here.report({
      sessionId: SESSION,
      events: [
        { type: 'turn_started', turnId: `t${turn}` },
        { type: 'turn_ended', turnId: `t${turn}`, reason: 'done' },
      ],
    })
  expect((await there.snapshot(SESSION)).state.trimmed).toBe(true)
  const { interaction } = await here.open({ sessionId: SESSION, kind: 'question', request: database })
  const { interactionId } = interaction
  await there.as(ada).respond({ sessionId: SESSION, interactionId, answer: sqlite })
  expect(results).toEqual(['ok'])
  for (const desk of [here, there]) desk.close()
})
