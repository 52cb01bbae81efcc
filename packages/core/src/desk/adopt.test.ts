import { describe, expect, it } from 'vitest'
import { stateToJson, type AdoptBody, type AdoptedItem, type SessionEvent } from '@askback/protocol'
import { memoryStore } from '../store/memory-store.js'
import type { Store } from '../store/store.js'
import { fakeClock } from '../testing/fake-clock.js'
import { createDesk } from './desk.js'
import { replay } from './speculative.js'
import { ada, no, testDesk, type TestDesk } from './test-desk.test.helper.js'

const cwd = '/work'
const outside = { agent: null, cwd }
const start = fakeClock().now()
const ID = 'codex.thread'

function call(toolCallId: string, ms: number, cmd: string): AdoptedItem {
  return { type: 'tool_call', at: start + ms, toolCallId, toolName: 'exec_command', input: { cmd } }
}

function result(toolCallId: string, ms: number): AdoptedItem {
  return { type: 'tool_result', at: start + ms, toolCallId, output: 'ok', isError: false }
}

function said(text: string, ms: number): AdoptedItem {
  return { type: 'user_message', at: start + ms, text }
}

function history(...items: AdoptedItem[]): AdoptBody {
  return { agent: 'codex', agentSessionId: 'thread', cwd, items }
}

const question = (text: string) => ({
  questions: [{ header: 'Q', question: text, options: [], multiSelect: false }],
})
const answer = { answers: [{ selected: [], other: 'yes' }] }

/** Asks in the session `s` at that time, and answers unless the request is to stay pending. */
async function ask(
  test: TestDesk,
  {
    toolName,
    toolCallId = 'unknown',
    at,
    waits = false,
  }: { toolName: string; toolCallId?: string; at: number; waits?: boolean },
) {
  test.clock.advance(start + at - test.clock.now())
  const { interactionId } = await test.open('question', question(`${toolName}?`), { toolName, toolCallId })
  if (!waits) await test.desk.as(ada).respond({ interactionId, answer })
  return interactionId
}

const logOf = (store: Store, sessionId = ID) => store.read({ sessionId, limit: 100_000 })
const typesOf = (events: SessionEvent[]) => events.map(({ type }) => type)

/** The tool call of each interaction. */
function anchors(events: SessionEvent[]): Record<string, string> {
  return Object.fromEntries(
    events.flatMap((event) =>
      event.type === 'interaction_request' ? [[event.toolName, event.toolCallId]] : [],
    ),
  )
}

describe('adopting a session', () => {
  it('turns its history into a log of ended turns, which can be continued', async () => {
    const { store, desk, clock } = await testDesk({ session: outside })
    clock.advance(60_000)
    const { session, created } = await desk
      .as(ada)
      .adopt(
        history(
          said('go', 1),
          { type: 'thinking', at: start + 2, text: 'hm' },
          call('a', 3, 'ls'),
          result('a', 4),
          { type: 'text', at: start + 5, text: 'done' },
          said('more', 6),
          { type: 'text', at: start + 7, text: 'also done' },
        ),
      )
    expect(created).toBe(true)
    expect(session).toMatchObject({ id: ID, agent: 'codex', status: 'idle', cwd, createdAt: start + 1 })
    const events = await logOf(store)
    expect(typesOf(events)).toEqual([
      'session_started',
      'user_message',
      'thinking',
      'tool_call',
      'tool_result',
      'text',
      'turn_ended',
      'user_message',
      'text',
      'turn_ended',
      'agent_session',
    ])
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
    expect(events.map(({ at }) => at - start)).toEqual([1, 1, 2, 3, 4, 5, 5, 6, 7, 7, 60_000])
    const { state } = await desk.snapshot(ID)
    expect(state).toMatchObject({ agentSessionId: 'thread', activeTurnId: null, source: 'adopted' })
    expect(state.turns).toMatchObject([{ reason: 'done' }, { reason: 'done' }])
    await desk.as(ada).message({ sessionId: ID, text: 'go on', route: 'agent' })
    expect(typesOf((await logOf(store)).slice(-3))).toEqual([
      'user_message',
      'turn_started',
      'session_status',
    ])
  })

  it('drops repeated items and results without a call, and gives each item a time', async () => {
    const { store, desk } = await testDesk()
    const late = { ...said('later', 0), at: start + 10 ** 12 }
    await desk
      .as(ada)
      .adopt(
        history(
          { ...said('no time', 0), at: 0 },
          call('a', 0, 'ls'),
          call('a', 0, 'again'),
          result('nobody', 0),
          result('a', 0),
          result('a', 0),
          late,
        ),
      )
    const events = await logOf(store)
    expect(typesOf(events).filter((type) => type.startsWith('tool_'))).toEqual(['tool_call', 'tool_result'])
    expect(events.every(({ at }) => at === start)).toBe(true)
  })

  it('a second time changes nothing', async () => {
    const { store, desk } = await testDesk()
    const { session } = await desk.as(ada).adopt(history(call('a', 1, 'ls')))
    const before = await logOf(store)
    const again = await desk.as(ada).adopt(history(call('a', 1, 'ls'), call('b', 2, 'ls')))
    expect(again).toEqual({ session, created: false })
    expect(await logOf(store)).toEqual(before)
  })

  it('is the session that an agent of this gateway runs, if that has the same agent', async () => {
    const { store, desk } = await testDesk({ session: { agent: 'codex', cwd } })
    await desk.report({ sessionId: 's', events: [{ type: 'agent_session', agentSessionId: 'thread' }] })
    expect(await desk.as(ada).adopt(history(said('go', 1)))).toMatchObject({
      session: { id: 's' },
      created: false,
    })
    expect(await store.countSessions()).toBe(1)
  })

  it('refuses invalid ids, unknown sources, and sessions beyond the limit', async () => {
    const { desk } = await testDesk({ limits: { sessions: 1 } })
    await expect(desk.as(ada).adopt({ ...history(), agentSessionId: 'a/b' })).rejects.toThrow(
      'characters that are not allowed',
    )
    await expect(desk.as(ada).adopt({ ...history(), from: 'nowhere' })).rejects.toThrow('which is the limit')
    const { desk: roomy } = await testDesk()
    await expect(roomy.as(ada).adopt({ ...history(), from: 'nowhere' })).rejects.toThrow(
      'There is no session nowhere.',
    )
  })
})

it.each<[string, unknown]>([
  ['no number', NaN],
  ['too large', 2 ** 60],
  ['half a character', '\ud83d'],
  ['no JSON', new Date(0)],
  ['a big integer', 1n],
])('a value that the log cannot store is refused: %s', async (_, output) => {
  const { desk } = await testDesk()
  const items = [call('c', 0, 'ls'), { ...result('c', 1), output }] as AdoptedItem[]
  await expect(desk.as(ada).adopt(history(...items))).rejects.toMatchObject({
    code: 'invalid_request',
  })
})

describe('a long history', () => {
  const items = Array.from({ length: 300 }, (_, index): AdoptedItem[] => [
    ...(index % 100 === 0 ? [said(`turn ${index}`, index)] : []),
    call(`call-${index}`, index, 'x'.repeat(5000)),
    result(`call-${index}`, index),
  ]).flat()

  /** A store whose appends fail from the given one on, as if the process had died there. */
  function dying(store: Store, after: number): Store {
    let left = after
    return {
      ...store,
      append: (input) =>
        left-- > 0 ? store.append(input) : Promise.reject(new Error('the process is gone')),
    }
  }

  /** The log without the values that differ from run to run. */
  const shape = (events: SessionEvent[]) => events.map(({ id: _, ...event }) => event)

  it('is written part by part, and live equals replay', async () => {
    const { store, desk } = await testDesk()
    await desk.as(ada).adopt(history(...items))
    const appends = (await store.changes({ limit: 1000 })).filter(({ sessionId }) => sessionId === ID)
    expect(appends.length).toBeGreaterThan(3)
    for (const { events } of appends) {
      expect(events.length).toBeLessThan(220)
      expect(JSON.stringify(events).length).toBeLessThan(700_000)
    }
    const { state } = await desk.snapshot(ID)
    expect(state).toEqual(stateToJson(await replay(store, ID)))
    expect(state.turns).toHaveLength(3)
    expect(await store.kv.list(`session/${ID}/`)).toEqual([])
  })

  it('that two people adopt at the same time is written once, on every desk', async () => {
    const { store: alone, desk } = await testDesk()
    await desk.as(ada).adopt(history(...items))
    const store: Store = { ...memoryStore(), shared: true }
    const desks = [0, 1].map(() => createDesk({ store, clock: fakeClock() }))
    const both = await Promise.all([...desks, ...desks].map((one) => one.as(ada).adopt(history(...items))))
    expect(both.filter(({ created }) => created)).toHaveLength(1)
    expect(shape(await logOf(store))).toEqual(shape(await logOf(alone)))
    for (const one of desks) one.close()
  })

  it.each([0, 1, 2, 3])('that was interrupted after %i parts continues with the next part', async (parts) => {
    const { store: whole, desk } = await testDesk()
    await desk.as(ada).adopt(history(...items))
    const store = memoryStore()
    const cut = createDesk({ store: dying(store, parts), clock: fakeClock(), onError: () => undefined })
    await expect(cut.as(ada).adopt(history(...items))).rejects.toThrow('the process is gone')
    cut.close()
    const next = createDesk({ store, clock: fakeClock() })
    if (parts > 0)
      await expect(next.as(ada).message({ sessionId: ID, text: 'go on' })).rejects.toThrow(
        'Only a part of the history of this session is here.',
      )
    expect(await next.as(ada).adopt(history(...items))).toMatchObject({ created: true })
    expect(shape(await logOf(store))).toEqual(shape(await logOf(whole)))
    expect(await next.as(ada).message({ sessionId: ID, text: 'go on' })).toMatchObject({ routed: 'agent' })
  })

  it('that was deleted in the middle starts from the beginning', async () => {
    const store = memoryStore()
    const cut = createDesk({ store: dying(store, 2), clock: fakeClock(), onError: () => undefined })
    await expect(cut.as(ada).adopt(history(...items))).rejects.toThrow('the process is gone')
    const next = createDesk({ store, clock: fakeClock() })
    await next.deleteSession(ID)
    expect(await next.as(ada).adopt(history(...items))).toMatchObject({ created: true })
    expect((await logOf(store)).filter(({ type }) => type === 'tool_call')).toHaveLength(300)
  })

  it('with an output that is too large keeps its first part and records the size', async () => {
    const { store, desk } = await testDesk()
    const output = 'x'.repeat(300_000)
    await desk.as(ada).adopt(
      history(call('a', 1, 'ls'), { ...result('a', 2), output } as AdoptedItem, call('b', 3, 'ls'), {
        ...result('b', 4),
        truncated: 5_000_000,
      } as AdoptedItem),
    )
    const results = (await logOf(store)).filter((event) => event.type === 'tool_result')
    expect(results).toMatchObject([
      { output: 'x'.repeat(256 * 1024), truncated: 300_000 },
      { output: 'ok', truncated: 5_000_000 },
    ])
  })
})

describe('an interaction of a script', () => {
  it('is placed at its call by id, then by name and command, then by the nearest time', async () => {
    const test = await testDesk({ session: outside })
    await ask(test, { toolName: 'x_one', toolCallId: 'late', at: 1000 })
    await ask(test, { toolName: 'askback_ask', at: 2000 })
    await ask(test, { toolName: 'y_two', at: 9000 })
    const items = [
      call('near', 1000, 'ls'),
      call('named', 5000, 'db=$(askback ask "Which?")'),
      result('named', 5001),
      call('late', 8900, 'true'),
      result('late', 9001),
    ]
    await test.desk.as(ada).adopt({ ...history(...items), from: 's' })
    const events = await logOf(test.store)
    expect(anchors(events)).toEqual({ x_one: 'late', askback_ask: 'named', y_two: 'late' })
    expect(typesOf(events).join(' ')).toContain('tool_call interaction_pending interaction_request')
  })

  it('in the folder or below it is copied if a call names it', async () => {
    const test = await testDesk({ session: { ...outside, cwd: '/work/deep' } })
    await test.desk.createSession({ id: 'other', agent: null, cwd: '/workshop' })
    await ask(test, { toolName: 'askback_ask', at: 2000 })
    await ask(test, { toolName: 'y_two', at: 2000 })
    const { interactionId } = await test.open('question', question('?'), {
      sessionId: 'other',
      toolName: 'elsewhere',
      toolCallId: 'named',
    })
    await test.desk.as(ada).respond({ interactionId, answer })
    await test.desk.as(ada).adopt(history(call('named', 1900, 'askback ask "Which?"')))
    expect(anchors(await logOf(test.store))).toEqual({ askback_ask: 'named' })
  })

  it('is found even if it is old', async () => {
    const test = await testDesk({ session: outside })
    await ask(test, { toolName: 'askback_ask', toolCallId: 'a', at: 1000 })
    const events = Array.from({ length: 1200 }, (_, index) => ({
      type: 'tool_call' as const,
      toolCallId: `t${index}`,
      toolName: 'Bash',
      input: {},
    }))
    await test.desk.report({ sessionId: 's', events })
    expect((await test.desk.snapshot('s')).state.interactions).toEqual([])
    await test.desk.as(ada).adopt(history(call('a', 900, 'x')))
    expect(anchors(await logOf(test.store))).toEqual({ askback_ask: 'a' })
  })

  it('[L1] [L2] keeps its person, answer and time, and is counted once', async () => {
    const test = await testDesk({ session: outside })
    const original = await ask(test, { toolName: 'askback_ask', toolCallId: 'a', at: 1000 })
    const audit = await test.desk.audit()
    await test.desk.as(ada).adopt(history(call('a', 900, 'x')))
    const events = await logOf(test.store)
    const asked = events.findIndex(({ type }) => type === 'interaction_request')
    expect(typesOf(events.slice(asked - 1, asked + 4))).toEqual([
      'interaction_pending',
      'interaction_request',
      'interaction_response',
      'interaction_pending',
      'interaction_delivered',
    ])
    expect(events[asked]).toMatchObject({ copyOf: original, anchor: 'exact', requestedAt: start + 1000 })
    expect(events[asked + 1]).toMatchObject({ settlement: 'answered', answer, by: ada.by, at: start + 1000 })
    const copied = (await test.desk.snapshot(ID)).state.interactions[0]!
    expect(copied).toMatchObject({ copyOf: original, status: 'settled', delivered: true, turnId: 'past-1' })
    expect(copied.interactionId).not.toBe(original)
    expect(await test.desk.audit()).toEqual(audit)
    expect(await test.desk.interaction('s', original)).toMatchObject({ settlement: 'answered' })
    await expect(test.desk.as(ada).respond({ interactionId: copied.interactionId, answer })).rejects.toThrow(
      'already settled by Ada',
    )
  })

  it('a copy is not copied again', async () => {
    const test = await testDesk({ session: outside })
    await ask(test, { toolName: 'askback_ask', toolCallId: 'a', at: 1000 })
    await test.desk.as(ada).adopt(history(call('a', 900, 'x')))
    await test.desk.as(ada).adopt({ ...history(call('a', 900, 'x')), agent: 'claude', from: ID })
    expect(anchors(await logOf(test.store, 'claude.thread'))).toEqual({})
  })
})

describe('a pending interaction', () => {
  /** A pending interaction of a session that was adopted. */
  async function pending() {
    const test = await testDesk({ session: outside })
    const original = await ask(test, { toolName: 'askback_ask', toolCallId: 'a', at: 1000, waits: true })
    await test.desk.as(ada).adopt(history(call('a', 900, 'x')))
    const shown = async () => anchors(await logOf(test.store))
    return { test, original, shown }
  }

  it('stays pending in its source session, and is copied to its call when it is answered', async () => {
    const { test, original, shown } = await pending()
    expect((await test.desk.pending()).interactions).toMatchObject([
      { interactionId: original, sessionId: 's' },
    ])
    expect(await shown()).toEqual({})
    await test.desk.as(ada).respond({ interactionId: original, answer })
    await expect.poll(shown).toEqual({ askback_ask: 'a' })
    const { state } = await test.desk.snapshot(ID)
    expect(state).toEqual(stateToJson(await replay(test.store, ID)))
    expect(state.turns).toHaveLength(1)
    expect(state.interactions).toMatchObject([{ copyOf: original, settlement: 'answered', by: ada.by }])
    expect((await test.desk.audit()).items).toHaveLength(1)
    await expect.poll(() => test.store.kv.list('adopted/')).toEqual([])
    expect(test.errors).toEqual([])
  })

  it('is copied even if it was answered while no gateway ran', async () => {
    const { test, original, shown } = await pending()
    const before = test.desk
    test.restart()
    before.close()
    await test.desk.ready
    await test.desk.as(ada).respond({ interactionId: original, answer })
    await expect.poll(shown).toEqual({ askback_ask: 'a' })
  })

  it('is copied once if the process died between the copy and the record of it', async () => {
    const { test, original, shown } = await pending()
    const [noted] = await test.store.kv.list('adopted/')
    await test.desk.as(ada).respond({ interactionId: original, answer })
    await expect.poll(() => test.store.kv.list('adopted/')).toEqual([])
    await test.store.kv.put(noted!.key, noted!.value, null)
    test.restart()
    await test.desk.ready
    await expect.poll(() => test.store.kv.list('adopted/')).toEqual([])
    expect(await shown()).toEqual({ askback_ask: 'a' })
    const requests = (await logOf(test.store)).filter(({ type }) => type === 'interaction_request')
    expect(requests).toHaveLength(1)
  })

  it('[L6] is copied with its last settlement if it was reprompted', async () => {
    const test = await testDesk({ session: outside })
    test.clock.advance(1000)
    const schema = { fields: [{ name: 'n', type: 'number', required: true, max: 3 }] }
    const { interactionId } = await test.open('form', { message: '?', schema }, { toolCallId: 'a' })
    await test.desk.as(ada).adopt(history(call('a', 900, 'x')))
    await expect(test.desk.as(ada).respond({ interactionId, answer: { values: { n: 9 } } })).rejects.toThrow(
      'another look',
    )
    const [again] = (await test.desk.pending()).interactions
    await test.desk.as(ada).respond({ interactionId: again!.interactionId, answer: { values: { n: 2 } } })
    await expect
      .poll(async () => (await test.desk.snapshot(ID)).state.interactions)
      .toMatchObject([{ copyOf: again!.interactionId, answer: { values: { n: 2 } } }])
  })

  it.each(['adopted', 'asking'])('is not copied if the %s session is deleted', async (which) => {
    const { test, original } = await pending()
    await test.desk.deleteSession(which === 'adopted' ? ID : 's')
    if (which === 'adopted') await test.desk.as(ada).respond({ interactionId: original, answer })
    await expect.poll(() => test.store.kv.list('adopted/')).toEqual([])
    expect(test.errors).toEqual([])
  })
})

it('a denial is copied with its reason', async () => {
  const test = await testDesk({ session: outside })
  test.clock.advance(1000)
  const { interactionId } = await test.open(
    'approval',
    { input: { n: 1 } },
    { toolName: 'deploy', toolCallId: 'a' },
  )
  await test.desk.as(ada).respond({ interactionId, answer: { ...no, message: 'Not today.' } })
  await test.desk.as(ada).adopt(history(call('a', 900, 'deploy')))
  expect((await test.desk.snapshot(ID)).state.interactions).toMatchObject([
    { settlement: 'denied', message: 'Not today.', kind: 'approval', digest: expect.any(String) as unknown },
  ])
})
