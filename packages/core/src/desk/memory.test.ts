import { stateToJson } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { memoryStore, type Store } from '../index.js'
import { replay } from '../internal.js'
import {
  ada,
  bob,
  database,
  isOver,
  listFiles,
  sqlite,
  testDesk,
  tick,
  waiting,
  yes,
  type TestDesk,
} from './test-desk.test.helper.js'

const own = { toolCallId: 'first', toolName: 'Bash', attach: true }
const call = {
  type: 'tool_call',
  toolCallId: 'first',
  toolName: 'Bash',
  input: { command: 'ls' },
  turnId: 'turn0',
} as const
const result = { type: 'tool_result', toolCallId: 'first', output: '', isError: false } as const

async function turns({ desk }: TestDesk, from: number, to: number): Promise<void> {
  for (let turn = from; turn < to; turn++) {
    const turnId = `turn${turn}`
    await desk.report({
      sessionId: 's',
      events: [
        { type: 'turn_started', turnId },
        { type: 'text', blockId: turnId, text: 'Hi.', turnId },
        { type: 'turn_ended', turnId, reason: 'done' },
      ],
    })
  }
}

/** A session whose first turn, with all its interactions, has left the window. */
async function longSession(): Promise<TestDesk> {
  const test = await testDesk({ session: { agent: 'demo' } })
  await test.desk.report({ sessionId: 's', events: [{ type: 'turn_started', turnId: 'turn0' }, call] })
  return test
}

describe('sessions that were evicted from memory', () => {
  it('have interactions that are answered, waited for and timed out as usual', async () => {
    const { desk, clock } = await testDesk({ limits: { inMemory: 4 } })
    const names = Array.from({ length: 8 }, (_, index) => `session-${index}`)
    const asked = names.map((name) => desk.session(name).ask({ ...database, timeoutMs: 1000 }))
    expect(await isOver(Promise.race(asked))).toBe(false)
    const { interactions } = await desk.pending()
    expect(interactions).toHaveLength(8)
    for (const { sessionId, interactionId } of interactions.slice(0, 4)) {
      await desk.as(ada).respond({ sessionId, interactionId, answer: sqlite })
    }
    clock.advance(1000)
    const settled = await Promise.all(asked)
    expect(settled.filter(({ settlement }) => settlement === 'answered')).toHaveLength(4)
    expect(settled.filter(({ settlement }) => settlement === 'timed_out')).toHaveLength(4)
  })

  it('are loaded again while all others are in use, also with a small memory budget', async () => {
    const inner = memoryStore()
    // As with a disk, an append ends in a later iteration of the event loop.
    const append: Store['append'] = (change) => tick().then(() => inner.append(change))
    const { desk } = await testDesk({ store: { ...inner, append }, limits: { inMemory: 2 } })
    const names = Array.from({ length: 12 }, (_, index) => `session-${index}`)
    await Promise.all(names.map((id) => desk.createSession({ id })))
    const asked = names.map((name) => desk.session(name).ask(database))
    while ((await desk.pending()).interactions.length < names.length) await tick()
    const { interactions } = await desk.pending()
    await Promise.all(
      interactions.map(({ sessionId, interactionId }) =>
        desk.as(ada).respond({ sessionId, interactionId, answer: sqlite }),
      ),
    )
    const reads = await Promise.all(names.map((name) => desk.snapshot(name)))
    expect(reads.every(({ state }) => state.interactions[0]?.settlement === 'answered')).toBe(true)
    expect((await Promise.all(asked)).every(({ settlement }) => settlement === 'answered')).toBe(true)
  })

  it('complete the commands that run while they are evicted', async () => {
    const { desk, store } = await testDesk({ limits: { inMemory: 2 } })
    const say = (sessionId: string, text: string) => desk.as(ada).message({ sessionId, text })
    const names = ['a', 'b', 'c']
    for (const id of names) await desk.createSession({ id })
    await Promise.all(Array.from({ length: 30 }, (_, index) => say(names[index % 3]!, `${index}`)))
    for (const sessionId of names) {
      const events = await store.read({ sessionId, limit: 100 })
      expect(events.map((event) => event.seq)).toEqual(Array.from({ length: 11 }, (_, index) => index + 1))
    }
  })
})

describe('an interaction outside the window of 20 turns', () => {
  it('stays pending and answerable until it is settled', async () => {
    const test = await longSession()
    const { interactionId } = await test.open('approval', listFiles, { ...own, turnId: 'turn0' })
    const { settlement } = await waiting(test.desk, interactionId)
    await turns(test, 1, 40)
    expect((await test.desk.snapshot('s')).state.pending).toMatchObject([{ interactionId }])
    expect(await test.opened('approval', listFiles, own)).toMatchObject({
      created: false,
      interaction: { interactionId },
    })
    await test.desk.as(ada).respond({ interactionId, answer: yes })
    expect(await settlement).toMatchObject({ settlement: 'approved', inDoubt: false })
  })

  it('[L3] [L10] [L11] is found again after it was settled', async () => {
    const test = await longSession()
    const { desk } = test
    const { interactionId } = await test.open('approval', listFiles, { ...own, turnId: 'turn0' })
    await desk.as(ada).respond({ interactionId, answer: yes })
    await turns(test, 1, 40)
    expect((await desk.snapshot('s')).state.interactions).toEqual([])
    expect(await desk.interaction('s', interactionId)).toMatchObject({ settlement: 'approved', ...ada })
    const winner = { code: 'already_settled', details: { interaction: { interactionId, by: ada.by } } }
    await expect(desk.as(bob).respond({ interactionId, answer: yes })).rejects.toMatchObject(winner)
    await expect(desk.as(bob).cancel({ interactionId })).rejects.toMatchObject(winner)
    await expect(desk.as(bob).message({ sessionId: 's', interactionId, text: 'x' })).rejects.toMatchObject(
      winner,
    )
    const byCall = {
      sessionId: 's',
      toolCallId: 'first',
      kind: 'approval',
      decision: 'deny',
    } as const
    await expect(desk.as(bob).answerToolCall(byCall)).rejects.toMatchObject(winner)
    expect(await test.opened('approval', listFiles, own)).toMatchObject({
      created: false,
      interaction: { interactionId },
    })
    expect(await desk.wait(interactionId)).toMatchObject({ settlement: 'approved', inDoubt: false })
    expect(await desk.wait(interactionId)).toMatchObject({ settlement: 'approved', inDoubt: true })
  })

  it('[L11] is not reused if its tool call asks something else', async () => {
    const test = await longSession()
    const { interactionId } = await test.open('approval', listFiles, { ...own, turnId: 'turn0' })
    await test.desk.as(ada).respond({ interactionId, answer: yes })
    await turns(test, 1, 40)
    expect(await test.opened('approval', { input: {} }, own)).toMatchObject({ created: true })
  })

  it('has a tool call that is still known, and ends once', async () => {
    const test = await longSession()
    const { interactionId } = await test.open('question', database, { ...own, turnId: 'turn0' })
    await turns(test, 1, 40)
    const before = await test.seq()
    await test.desk.report({ sessionId: 's', events: [call] })
    expect(await test.seq()).toBe(before)
    await test.desk.report({ sessionId: 's', events: [result] })
    expect(await test.desk.interaction('s', interactionId)).toMatchObject({ settlement: 'cancelled' })
    const after = await test.seq()
    await test.desk.report({ sessionId: 's', events: [result] })
    expect(await test.seq()).toBe(after)
  })

  it('the state in memory always equals the fold of the log', async () => {
    const test = await longSession()
    for (let round = 1; round < 6; round++) {
      const { interactionId } = await test.open('question', database)
      await turns(test, round * 10, round * 10 + 10)
      if (round % 2 === 0) await test.desk.as(ada).respond({ interactionId, answer: sqlite })
      const { state } = await test.desk.snapshot('s')
      expect(state).toEqual(stateToJson(await replay(test.store, 's')))
    }
  })
})

describe('a session of many events', () => {
  it('is loaded from a snapshot and the events after it', async () => {
    const test = await longSession()
    const { interactionId } = await test.open('question', database, { turnId: 'turn0' })
    await turns(test, 1, 250)
    const snapshot = await test.store.loadSnapshot('s')
    expect(snapshot?.seq).toBeGreaterThanOrEqual(500)
    const after: (number | undefined)[] = []
    const read = test.store.read.bind(test.store)
    test.store.read = (query) => {
      after.push(query.after)
      return read(query)
    }
    const before = (await test.desk.snapshot('s')).state
    const desk = test.restart()
    expect((await desk.snapshot('s')).state).toEqual(before)
    // Including the snapshot's last event, which proves that the snapshot is of this log.
    expect(after[0]).toBe(snapshot!.seq - 1)
    const { settlement } = await waiting(desk, interactionId)
    await desk.as(ada).respond({ interactionId, answer: sqlite })
    expect(await settlement).toMatchObject({ settlement: 'answered' })
  })

  it('is folded from its first event if the snapshot has another version', async () => {
    const test = await longSession()
    await turns(test, 1, 10)
    const { state, seq } = await test.desk.snapshot('s')
    await test.store.saveSnapshot('s', { seq, version: -1, state: { nonsense: true } })
    expect((await test.restart().snapshot('s')).state).toEqual(state)
  })
})
