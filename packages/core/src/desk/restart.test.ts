import { AskbackError } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import type { Store } from '../store/store.js'
import {
  ada,
  database,
  isOver,
  listFiles,
  no,
  port,
  sqlite,
  testDesk,
  waiting,
  yes,
} from './test-desk.test.helper.js'

const plan = { plan: 'Do it.' }
const kinds = [
  ['question', database, sqlite],
  ['approval', listFiles, yes],
  ['plan_review', plan, { decision: 'edit' }],
  ['form', port, { values: { port: 1 } }],
] as const

function failNext(store: Store): void {
  const append = store.append.bind(store)
  store.append = () => {
    store.append = append
    return Promise.reject(new AskbackError('unavailable', 'The disk is full.'))
  }
}

describe('[L10] after a restart', () => {
  it('pending interactions are still pending, in every read', async () => {
    const { desk, open, restart } = await testDesk()
    for (const [kind, request] of kinds) await open(kind, request)
    const before = [(await desk.pending()).interactions, (await desk.snapshot('s')).state]
    const again = restart()
    expect([(await again.pending()).interactions, (await again.snapshot('s')).state]).toEqual(before)
  })

  it.each(kinds)('a %s that was opened before can be answered', async (kind, request, answer) => {
    const { open, restart } = await testDesk()
    const { interactionId } = await open(kind, request)
    const desk = restart()
    const { settlement } = await waiting(desk, interactionId)
    await desk.as(ada).respond({ interactionId, answer })
    expect(await settlement).toMatchObject({ answer, ...ada })
  })

  it.each(kinds)(
    'an answer to a %s that had no waiter is stored, and claimed once',
    async (kind, request, answer) => {
      const { desk, open, restart, types, seq } = await testDesk()
      const { interactionId } = await open(kind, request)
      await desk.as(ada).respond({ interactionId, answer })
      expect(await types()).not.toContain('interaction_delivered')
      const again = restart()
      const before = await seq()
      const settled = await again.wait(interactionId)
      expect(settled).toMatchObject({ answer })
      if (settled.settlement === 'approved') expect(settled.inDoubt).toBe(false)
      expect(await types(before)).toEqual(['interaction_delivered'])
      await again.wait(interactionId)
      expect(await types(before)).toEqual(['interaction_delivered'])
    },
  )

  it.each(kinds.filter(([kind]) => kind !== 'approval'))(
    'a %s that was claimed without a result is returned again',
    async (kind, request, answer) => {
      const { desk, open, restart } = await testDesk()
      const { interactionId } = await open(kind, request)
      const { settlement } = await waiting(desk, interactionId)
      await desk.as(ada).respond({ interactionId, answer })
      const first = await settlement
      const again = await restart().wait(interactionId)
      expect(again).toMatchObject({ settlement: first.settlement, answer })
      if (again.settlement === 'approved') expect(again.inDoubt).toBe(false)
    },
  )

  it('an approval that was claimed without a result is in doubt, and does not allow another run', async () => {
    const { desk, open, restart } = await testDesk()
    const { interactionId } = await open('approval', listFiles, { toolCallId: 't', attach: true })
    const { settlement } = await waiting(desk, interactionId)
    await desk.as(ada).respond({ interactionId, answer: yes })
    expect(await settlement).toMatchObject({ settlement: 'approved', inDoubt: false })
    const again = restart()
    expect(await again.wait(interactionId)).toMatchObject({ settlement: 'approved', inDoubt: true })
    const asked = again
      .session('s')
      .approve({ ...listFiles, toolName: 'approval', toolCallId: 't', attach: true })
    expect(await asked).toMatchObject({ settlement: 'approved', inDoubt: true })
  })

  it('a denial stays a denial in every read', async () => {
    const { desk, open, restart } = await testDesk()
    const { interactionId } = await open('approval', listFiles)
    await desk.as(ada).respond({ interactionId, answer: { ...no, message: 'No.' } })
    await desk.wait(interactionId)
    expect(await restart().wait(interactionId)).toMatchObject({ settlement: 'denied', message: 'No.' })
  })

  it('an approval by a rule that was claimed when it was opened is in doubt, too', async () => {
    const { desk, restart } = await testDesk({ session: { permissionMode: 'bypassPermissions' } })
    const ask = { ...listFiles, toolName: 'Bash', toolCallId: 't', attach: true }
    expect(await desk.session('s').approve(ask)).toMatchObject({ settlement: 'approved', inDoubt: false })
    expect(await restart().session('s').approve(ask)).toMatchObject({ settlement: 'approved', inDoubt: true })
  })

  it('an approval by a rule that was not claimed is not in doubt', async () => {
    const { open, restart } = await testDesk({ session: { permissionMode: 'bypassPermissions' } })
    const asked = await open('approval', listFiles, { toolName: 'Bash', toolCallId: 't', attach: true })
    expect(asked).toMatchObject({ status: 'settled', settlement: 'approved', via: 'policy' })
    const ask = { ...listFiles, toolName: 'Bash', toolCallId: 't', attach: true }
    expect(await restart().session('s').approve(ask)).toMatchObject({
      settlement: 'approved',
      inDoubt: false,
    })
  })
})

describe('[L10] a claim', () => {
  it('is in the append of the answer if a waiter is in this process, and names the receiver', async () => {
    const { desk, open, events } = await testDesk()
    const { interactionId } = await open('approval', listFiles, { toolCallId: 't' })
    const wait = desk.as({ id: 'claude' }).wait(interactionId)
    expect(await isOver(wait)).toBe(false)
    const { events: answered } = await desk.as(ada).respond({ interactionId, answer: yes })
    expect(answered.map((event) => event.type)).toContain('interaction_delivered')
    expect((await events()).find((event) => event.type === 'interaction_delivered')).toMatchObject({
      interactionId,
      toolCallId: 't',
      to: 'claude',
    })
  })

  it('is not made by a read, or by a wait that does not claim', async () => {
    const { desk, open, types } = await testDesk()
    const { interactionId } = await open('approval', listFiles)
    const watched = desk.wait(interactionId, { sessionId: 's', claim: false })
    expect(await isOver(watched)).toBe(false)
    await desk.as(ada).respond({ interactionId, answer: yes })
    expect(await watched).toMatchObject({ settlement: 'approved' })
    expect(await desk.wait(interactionId, { sessionId: 's', claim: false })).toMatchObject({
      settlement: 'approved',
    })
    expect(await desk.interaction('s', interactionId)).not.toHaveProperty('delivered')
    expect(await types()).not.toContain('interaction_delivered')
  })

  it('is visible in a read only if it was made before', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('approval', listFiles)
    const { interaction } = await desk.as(ada).respond({ interactionId, answer: yes })
    expect(
      await desk.as({ id: 'http' }).wait(interaction.interactionId, { sessionId: 's', until: 'now' }),
    ).not.toHaveProperty('delivered')
    expect(
      await desk.as({ id: 'http' }).wait(interaction.interactionId, { sessionId: 's', until: 'now' }),
    ).toMatchObject({ delivered: true })
    expect(await desk.interaction('s', interactionId)).toMatchObject({ delivered: true })
  })

  it('delays the settlement while the store fails, and no waiter gets it unclaimed', async () => {
    const { desk, store, clock, open, errors } = await testDesk()
    const { interactionId } = await open('approval', listFiles)
    await desk.as(ada).respond({ interactionId, answer: yes })
    failNext(store)
    const wait = desk.wait(interactionId)
    expect(await isOver(wait)).toBe(false)
    expect(errors).toHaveLength(1)
    clock.advance(1000)
    expect(await wait).toMatchObject({ settlement: 'approved', inDoubt: false })
  })
})

describe('an append that fails', () => {
  it('has no effect: the answer is refused as unavailable, and can be sent again', async () => {
    const { desk, store, open, seq } = await testDesk()
    const { interactionId } = await open('question', database)
    const { settlement } = await waiting(desk, interactionId)
    const before = await seq()
    failNext(store)
    await expect(desk.as(ada).respond({ interactionId, answer: sqlite })).rejects.toMatchObject({
      code: 'unavailable',
    })
    expect(await seq()).toBe(before)
    expect(await isOver(settlement)).toBe(false)
    expect(await desk.interaction('s', interactionId)).toMatchObject({ status: 'pending' })
    await desk.as(ada).respond({ interactionId, answer: sqlite })
    expect(await settlement).toMatchObject({ settlement: 'answered', answer: sqlite })
  })

  it('publishes nothing that was decided after it', async () => {
    const { desk, store, open } = await testDesk()
    const { interactionId } = await open('question', database)
    failNext(store)
    const first = desk.as(ada).respond({ interactionId, answer: sqlite })
    const second = desk.as(ada).respond({ interactionId, answer: sqlite })
    await expect(first).rejects.toMatchObject({ code: 'unavailable' })
    expect(await second).toMatchObject({ interaction: { settlement: 'answered' } })
  })
})
