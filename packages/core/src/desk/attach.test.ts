import { describe, expect, it } from 'vitest'
import {
  ada,
  database,
  isOver,
  listFiles,
  no,
  testDesk,
  waiting,
  yes,
  type TestDesk,
} from './test-desk.test.helper.js'

const own = { toolCallId: 't', toolName: 'Bash', attach: true }
const remove = { input: { command: 'rm x' } }

const attached = (test: TestDesk, request: unknown) => test.opened('approval', request, own)

describe('[L11] an adapter that asks again about its own tool call', () => {
  it('attaches to the pending interaction if it asks the same', async () => {
    const test = await testDesk()
    const first = await attached(test, listFiles)
    const before = await test.seq()
    const again = await attached(test, { ...listFiles, title: 'In other words' })
    expect(first.created).toBe(true)
    expect(again).toMatchObject({
      created: false,
      interaction: { interactionId: first.interaction.interactionId },
    })
    expect(await test.seq()).toBe(before)
  })

  it.each([yes, no])('attaches to the settled interaction if it asks the same: %j', async (answer) => {
    const test = await testDesk()
    const { interactionId } = (await attached(test, listFiles)).interaction
    await test.desk.as(ada).respond({ interactionId, answer })
    expect(await attached(test, listFiles)).toMatchObject({
      created: false,
      interaction: { interactionId, status: 'settled', answer },
    })
  })

  it('supersedes the pending interaction if it asks something else, in one append', async () => {
    const test = await testDesk()
    const old = (await attached(test, listFiles)).interaction
    const { settlement } = await waiting(test.desk, old.interactionId)
    const before = await test.seq()
    const { interaction, created } = await attached(test, remove)
    expect(created).toBe(true)
    expect((await test.store.changes({ limit: 100 })).at(-1)!.events[0]!.seq).toBe(before + 1)
    expect(await test.events(before)).toMatchObject([
      {
        type: 'interaction_response',
        interactionId: old.interactionId,
        settlement: 'superseded',
        supersededBy: interaction.interactionId,
      },
      {
        type: 'interaction_pending',
        interactionId: old.interactionId,
        pending: false,
        reason: 'superseded',
      },
      { type: 'interaction_delivered', interactionId: old.interactionId },
      {
        type: 'interaction_pending',
        interactionId: interaction.interactionId,
        pending: true,
        reason: 'requested',
      },
      { type: 'interaction_request', interactionId: interaction.interactionId, request: remove },
    ])
    expect(await settlement).toMatchObject({
      settlement: 'superseded',
      supersededBy: interaction.interactionId,
    })
  })

  it('a waiter of the old interaction does not follow to the new one, also after a restart', async () => {
    const test = await testDesk()
    const { interactionId } = (await attached(test, listFiles)).interaction
    const next = (await attached(test, remove)).interaction
    const desk = test.restart()
    expect(await desk.wait(interactionId)).toMatchObject({
      settlement: 'superseded',
      supersededBy: next.interactionId,
    })
  })

  it('never attaches to a superseded interaction', async () => {
    const test = await testDesk()
    const first = (await attached(test, listFiles)).interaction
    const second = (await attached(test, remove)).interaction
    const third = await attached(test, listFiles)
    expect(third.created).toBe(true)
    expect(third.interaction.interactionId).not.toBe(first.interactionId)
    expect(await test.desk.interaction('s', second.interactionId)).toMatchObject({
      settlement: 'superseded',
      supersededBy: third.interaction.interactionId,
    })
    expect((await test.desk.pending()).interactions).toHaveLength(1)
  })

  it('opens a new interaction beside a settled one if it asks something else', async () => {
    const test = await testDesk()
    const { interactionId } = (await attached(test, listFiles)).interaction
    await test.desk.as(ada).respond({ interactionId, answer: yes })
    const other = await attached(test, remove)
    expect(other).toMatchObject({ created: true, interaction: { status: 'pending' } })
    expect(await test.desk.interaction('s', interactionId)).toMatchObject({ settlement: 'approved' })
  })

  it('finds its request again although a later one was settled', async () => {
    const test = await testDesk()
    const first = (await attached(test, listFiles)).interaction
    await test.desk.as(ada).respond({ interactionId: first.interactionId, answer: yes })
    const second = (await attached(test, remove)).interaction
    await test.desk.as(ada).respond({ interactionId: second.interactionId, answer: no })
    expect(await attached(test, listFiles)).toMatchObject({
      created: false,
      interaction: { interactionId: first.interactionId },
    })
  })

  it('attaches only to its own kind', async () => {
    const test = await testDesk()
    await test.open('question', database, own)
    expect(await attached(test, listFiles)).toMatchObject({ created: true })
    expect((await test.desk.pending()).interactions).toHaveLength(2)
  })

  it('an interaction past its deadline is settled, and attaching to it opens nothing', async () => {
    const test = await testDesk()
    const onTimeout = { answer: yes }
    const ask = { ...listFiles, toolName: 'Bash', toolCallId: 't', attach: true, timeoutMs: 1000, onTimeout }
    await test.opened('approval', listFiles, { ...own, timeoutMs: 1000, onTimeout })
    test.clock.jump(1000)
    const session = test.desk.session('s')
    const both = await Promise.all([session.approve(ask), session.approve(ask)])
    const inDoubt = both.map((one) => one.settlement === 'approved' && one.inDoubt)
    expect(inDoubt.filter((doubt) => !doubt)).toHaveLength(1)
  })

  it('of many concurrent callers at most one may act', async () => {
    const test = await testDesk()
    const session = test.desk.session('s')
    const asked = Array.from({ length: 5 }, () =>
      session.approve({ ...listFiles, toolName: 'Bash', toolCallId: 't', attach: true }),
    )
    expect(await isOver(Promise.race(asked))).toBe(false)
    const [item, ...others] = (await test.desk.pending()).interactions
    expect(others).toEqual([])
    await test.desk.as(ada).respond({ interactionId: item!.interactionId, answer: yes })
    const settled = await Promise.all(asked)
    expect(settled.filter((one) => one.settlement === 'approved' && !one.inDoubt)).toHaveLength(1)
  })
})

describe('[L11] without attach', () => {
  it('every request is a new interaction, and a tool call may have many', async () => {
    const { desk, open } = await testDesk()
    const ids = []
    for (let count = 0; count < 3; count++) {
      ids.push((await open('approval', listFiles, { toolCallId: 't', toolName: 'Bash' })).interactionId)
    }
    expect(new Set(ids).size).toBe(3)
    expect((await desk.snapshot('s')).state.pending.map((item) => item.interactionId)).toEqual(ids)
  })
})
